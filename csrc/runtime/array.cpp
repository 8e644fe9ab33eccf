// SPDX-License-Identifier: Apache-2.0
// array.cpp: geometry of arrays; their memory comes from the device.
#include "csrc/runtime/array.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "csrc/codegen/ir/encode.h"
#include "csrc/codegen/lower/type_text.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/allocator.h"
#include "csrc/runtime/element_kernels.h"
#include "csrc/runtime/profiler.h"

namespace wt::rt {

Storage::~Storage() {
  if (!freed) give_back();
}

void Storage::give_back() {
  if (release) {
    release();
  } else if (allocator) {
    allocator->free(data);
  }
  freed = true;
}

void mark_used(const Array& a, Stream stream) {
  Storage& s = *a.storage;
  if (s.allocator && s.data && !(stream == s.stream)) s.allocator->use_on(s.data, stream);
}

WtArray Array::header() const {
  WtArray h{};
  h.data = data;
  for (int i = 0; i < kMaxDims; ++i) {
    h.shape[i] = shape[i];
    h.stride[i] = stride[i];
  }
  h.ndim = ndim;
  return h;
}

bool Array::contiguous() const {
  int64_t expect = int64_t(item_bytes());
  for (int i = ndim - 1; i >= 0; --i) {
    if (shape[i] != 1 && stride[i] != expect) return size() == 0;
    expect *= shape[i];
  }
  return true;
}

std::pair<const char*, const char*> Array::extent() const {
  if (size() == 0) return {data, data};
  const char* lo = data;
  const char* hi = data;
  for (int i = 0; i < ndim; ++i) {
    int64_t reach = (shape[i] - 1) * stride[i];
    (reach < 0 ? lo : hi) += reach;
  }
  return {lo, hi + item_bytes()};
}

bool Array::self_overlapping() const {
  if (size() <= 1) return false;
  std::vector<std::pair<int64_t, int64_t>> dims;  // |stride|, shape
  for (int i = 0; i < ndim; ++i)
    if (shape[i] > 1) dims.emplace_back(std::abs(stride[i]), shape[i]);
  std::sort(dims.begin(), dims.end());
  int64_t reach = int64_t(item_bytes());  // bytes spanned by the dimensions seen so far
  for (auto [s, n] : dims) {
    if (s < reach) return true;
    reach = s * (n - 1) + reach;
  }
  return false;
}

Array Array::grad() const {
  Array g;
  if (!storage || !storage->grad) return g;
  g = *this;
  g.storage = storage->grad;
  g.data = data ? storage->grad->data + (data - storage->data) : nullptr;
  g.requires_grad = false;
  return g;
}

std::string Array::describe() const {
  std::string s = "array(shape=(";
  for (int i = 0; i < ndim; ++i) s += cat(i ? ", " : "", shape[i]);
  s += ndim == 1 ? ",)" : ")";
  s += cat(", dtype=", lower_detail::python_name(dtype), ", device=", device().properties().name,
           ")");
  return s;
}

bool may_overlap(const Array& a, const Array& b) {
  auto [a_low, a_high] = a.extent();
  auto [b_low, b_high] = b.extent();
  if (a_low >= b_high || b_low >= a_high) return false;
  // Every element starts at a multiple of the common divisor of all strides from the first one.
  int64_t step = 0;
  for (const Array* v : {&a, &b})
    for (int i = 0; i < v->ndim; ++i)
      if (v->shape[i] > 1) step = std::gcd(step, v->stride[i]);
  if (step == 0) return true;
  const int64_t apart = ((b.data - a.data) % step + step) % step;
  return apart < int64_t(a.item_bytes()) || step - apart < int64_t(b.item_bytes());
}

namespace {

void set_contiguous(Array& a) {
  int64_t step = int64_t(a.item_bytes());
  for (int i = a.ndim - 1; i >= 0; --i) {
    a.stride[i] = step;
    step *= a.shape[i];
  }
}

void set_shape(Array& a, std::span<const int64_t> shape, std::string_view who) {
  if (shape.size() > kMaxDims)
    throw ArgumentValueError(coded("WT614"), cat(who, ": got ", shape.size(),
                                                 " dimensions, an array has at most ", kMaxDims));
  a.ndim = int(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0)
      throw ArgumentValueError(coded("WT614"),
                               cat(who, ": shape[", i, "] is ", shape[i], ", must be >= 0"));
    a.shape[i] = shape[i];
  }
}

std::shared_ptr<Storage> make_storage(Device& device, size_t bytes, Stream stream) {
  auto s = std::make_shared<Storage>();
  s->allocator = allocator_of(device);
  s->data = static_cast<char*>(s->allocator->alloc(bytes, stream));
  s->bytes = bytes;
  s->stream = s->write_stream = stream;
  s->device = &device;
  return s;
}

}  // namespace

Array empty(Device& device, ir::Type dtype, std::span<const int64_t> shape, Stream stream) {
  Array a;
  a.dtype = dtype;
  set_shape(a, shape, "empty()");
  set_contiguous(a);
  a.storage = make_storage(device, size_t(a.size()) * a.item_bytes(), stream);
  a.data = a.storage->data;
  return a;
}

void ensure_grad(Array& a, Stream stream) {
  a.requires_grad = true;
  Storage& s = *a.storage;
  if (s.grad) return;
  std::shared_ptr<Storage> g = make_storage(*s.device, s.bytes, stream);
  const unsigned char byte = 0;
  if (g->bytes) s.device->fill(g->data, &byte, 1, g->bytes, stream);
  g->dtype = a.dtype;
  s.grad = std::move(g);
}

Array whole(const std::shared_ptr<Storage>& storage, ir::Type dtype) {
  Array a;
  a.storage = storage;
  a.data = storage->data;
  a.dtype = ir::is_numeric(dtype) ? ir::scalar_type(dtype->scalar) : dtype;
  a.ndim = 1;
  a.shape[0] = int64_t(storage->bytes / a.item_bytes());
  a.stride[0] = int64_t(a.item_bytes());
  return a;
}

void clear_gradient(Storage& storage, Stream stream) {
  if (!storage.grad) return;
  Storage& g = *storage.grad;
  const unsigned char byte = 0;
  const bool capturing = g.device->is_capturing(stream);
  const bool zero = g.version == g.zero_version && !g.exposed && !g.captured && !capturing;
  g.captured |= capturing;
  if (g.bytes && !zero) g.device->fill(g.data, &byte, 1, g.bytes, stream);
  g.zero_version = ++g.version;
}

bool same_components(ir::Type a, ir::Type b) {
  return a == b || (ir::is_numeric(a) && ir::is_numeric(b) && a->scalar == b->scalar);
}

std::vector<char> element_of_ones(ir::Type dtype) {
  if (ir::is_numeric(dtype)) return ir::encode_components(dtype, 1.0);
  std::vector<char> out(ir::size_of(dtype), 0);
  for (size_t i = 0; i < dtype->fields.size(); ++i) {
    const ir::Type field = dtype->fields[i].type;
    if (field->elem || !ir::is_differentiable(field)) continue;
    const std::vector<char> part = element_of_ones(field);
    std::copy(part.begin(), part.end(), out.begin() + ptrdiff_t(ir::field_offset(dtype, int(i))));
  }
  return out;
}

void zero(const Array& a, Stream stream) {
  std::vector<char> value(a.item_bytes(), 0);
  fill(a, value.data(), stream);
}

void fill(const Array& a, const void* value, Stream stream) {
  if (a.size() == 0) return;
  mark_written(a, stream);
  const ProfileScope scope(ProfileKind::kFill, "fill", a.device(), stream, a.size());
  if (!a.contiguous()) return fill_elements(a, value, stream);
  a.device().fill(a.data, value, a.item_bytes(), size_t(a.size()), stream);
  const char* bytes = static_cast<const char*>(value);
  const bool zeros = std::all_of(bytes, bytes + a.item_bytes(), [](char c) { return c == 0; });
  if (zeros && size_t(a.size()) * a.item_bytes() == a.storage->bytes)
    a.storage->zero_version = a.storage->version;
}

Array one_element(Array a) {
  WT_CHECK(a.ndim == 0, a.describe(), " has dimensions");
  a.ndim = 1;
  a.stride[0] = int64_t(a.item_bytes());
  return a;
}

void add(const Array& dst, const Array& src, Stream stream) {
  WT_CHECK(dst.dtype == src.dtype && std::equal(dst.shape, dst.shape + kMaxDims, src.shape),
           "add of ", src.describe(), " to ", dst.describe());
  if (dst.size() == 0) return;
  if (dst.ndim == 0) return add(one_element(dst), one_element(src), stream);
  mark_written(dst, stream);
  add_elements(dst, src, stream);
}

void copy(const Array& dst, const Array& src, Stream stream) {
  if (dst.dtype != src.dtype)
    throw ArgumentTypeError(coded("WT619"), cat("copy(): dtypes differ: destination ",
                                                dst.describe(), ", source ", src.describe()));
  if (!std::equal(dst.shape, dst.shape + kMaxDims, src.shape) || dst.ndim != src.ndim)
    throw ArgumentValueError(coded("WT618"), cat("copy(): shapes differ: destination ",
                                                 dst.describe(), ", source ", src.describe()));
  if (dst.size() == 0) return;
  mark_written(dst, stream);
  const ProfileScope scope(ProfileKind::kCopy, "copy", dst.device(), stream, dst.size());
  if (dst.contiguous() && src.contiguous()) {
    Device& d = dst.device().properties().kind == DeviceKind::kCpu ? src.device() : dst.device();
    d.copy(dst.data, src.data, size_t(dst.size()) * dst.item_bytes(), stream);
    return;
  }
  if (&dst.device() == &src.device()) return copy_elements(dst, src, stream);
  Array packed = contiguous(src, stream);
  if (dst.contiguous()) return copy(dst, packed, stream);
  Array landed = empty(dst.device(), dst.dtype, {dst.shape, size_t(dst.ndim)}, stream);
  copy(landed, packed, stream);
  copy_elements(dst, landed, stream);
}

Array contiguous(const Array& a, Stream stream) {
  if (a.contiguous()) return a;
  Array out = empty(a.device(), a.dtype, {a.shape, size_t(a.ndim)}, stream);
  copy_elements(out, a, stream);
  return out;
}

Array select(const Array& a, int dim, int64_t index) {
  WT_CHECK(dim >= 0 && dim < a.ndim, "select on dimension ", dim);
  if (index < 0) index += a.shape[dim];
  if (index < 0 || index >= a.shape[dim])
    throw ArgumentValueError(coded("WT616"), cat("index ", index, " is out of range for dimension ",
                                                 dim, " of ", a.describe()));
  Array r = a;
  if (r.data) r.data += index * a.stride[dim];
  for (int i = dim; i + 1 < a.ndim; ++i) {
    r.shape[i] = a.shape[i + 1];
    r.stride[i] = a.stride[i + 1];
  }
  r.ndim = a.ndim - 1;
  r.shape[r.ndim] = 1;
  r.stride[r.ndim] = 0;
  return r;
}

Array slice(const Array& a, int dim, int64_t start, int64_t count, int64_t step) {
  WT_CHECK(dim >= 0 && dim < a.ndim, "slice on dimension ", dim);
  Array r = a;
  if (r.data && count > 0) r.data += start * a.stride[dim];
  r.shape[dim] = count;
  r.stride[dim] = a.stride[dim] * step;
  return r;
}

Array permute(const Array& a, std::span<const int> order) {
  Array r = a;
  for (int i = 0; i < a.ndim; ++i) {
    r.shape[i] = a.shape[order[i]];
    r.stride[i] = a.stride[order[i]];
  }
  return r;
}

Array reinterpret(const Array& a, ir::Type dtype) {
  if (ir::size_of(dtype) != a.item_bytes())
    throw ArgumentTypeError(coded("WT622"), cat("view(", ir::to_string(dtype), "): ",
                                                ir::size_of(dtype), " bytes, but the elements of ",
                                                a.describe(), " have ", a.item_bytes()));
  Array r = a;
  r.dtype = dtype;
  r.requires_grad = a.requires_grad && same_components(dtype, a.dtype);
  return r;
}

Array reshape(const Array& a, std::span<const int64_t> shape) {
  Array r = a;
  std::fill(r.shape, r.shape + kMaxDims, 1);
  std::fill(r.stride, r.stride + kMaxDims, 0);
  set_shape(r, shape, "reshape()");
  if (r.size() != a.size())
    throw ArgumentValueError(coded("WT613"), cat("reshape(): ", a.describe(), " has ", a.size(),
                                                 " elements, the new shape has ", r.size()));
  if (!a.contiguous())
    throw ArgumentValueError(coded("WT623"), cat("reshape(): ", a.describe(),
                                                 " is not contiguous; call contiguous() first"));
  set_contiguous(r);
  return r;
}

}  // namespace wt::rt
