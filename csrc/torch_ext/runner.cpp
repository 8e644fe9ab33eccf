// SPDX-License-Identifier: Apache-2.0
// runner.cpp: tensors as the kernel's arrays, on PyTorch's stream, threads and memory.
#include "csrc/torch_ext/runner.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace wt::torch_ext {
namespace {

using CurrentStream = int (*)(int32_t device, void** stream);

/// The calling thread's stream. Looked up at run time, so that the library also loads where PyTorch
/// has no CUDA.
void* current_cuda_stream(int32_t device) {
  static const CurrentStream fn = [] {
    void* lib = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
    return lib ? reinterpret_cast<CurrentStream>(dlsym(lib, "aoti_torch_get_current_cuda_stream"))
               : nullptr;
  }();
  void* stream = nullptr;
  TORCH_CHECK(fn && fn(device, &stream) == 0, "warp_torch: PyTorch gave no CUDA stream");
  return stream;
}

void parallel_run(int64_t begin, int64_t end, void (*body)(void*, int64_t, int64_t),
                  void* context) {
  at::parallel_for(begin, end, 1, [&](int64_t b, int64_t e) { body(context, b, e); });
}
int parallel_threads() { return at::get_num_threads(); }
constexpr WtParallelFor kParallelFor = {&parallel_run, &parallel_threads};

WtArray empty_array(const WtOpParam& param) {
  WtArray a{};
  a.ndim = param.ndim;
  for (int64_t& n : a.shape) n = 1;
  return a;
}

/// An array of the kernel over a tensor whose last dimensions are the components.
WtArray array_of(const WtOpParam& param, const at::Tensor& t, bool written, bool batched) {
  WtArray a = empty_array(param);
  a.data = written ? static_cast<char*>(t.mutable_data_ptr())
                   : static_cast<char*>(const_cast<void*>(t.const_data_ptr()));
  auto size = t.sizes(), stride = t.strides();
  const auto item = int64_t(t.element_size());
  if (batched) {
    a.batch_stride = stride[0] * item;
    size = size.slice(1);
    stride = stride.slice(1);
  }
  if (param.value) {
    a.stride[0] = param.item_bytes;
    return a;
  }
  for (int32_t i = 0; i < param.ndim; ++i) {
    a.shape[i] = size[i];
    a.stride[i] = stride[i] * item;
  }
  return a;
}

/// First byte, and the one past the last, of a tensor with elements.
std::pair<const char*, const char*> extent(const at::Tensor& t) {
  const auto* lo = static_cast<const char*>(t.const_data_ptr());
  int64_t last = 0;
  for (int64_t d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
  return {lo, lo + (last + 1) * int64_t(t.element_size())};
}

bool may_share(const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0) return false;
  const auto [a0, a1] = extent(a);
  const auto [b0, b1] = extent(b);
  return a0 < b1 && b0 < a1;
}

/// Two indices may name one element: sorted by stride, each must step over the dimensions inside
/// it.
bool self_overlapping(const at::Tensor& t) {
  c10::SmallVector<std::pair<int64_t, int64_t>, 6> dims;  // stride, size
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.size(d) > 1) dims.emplace_back(t.stride(d), t.size(d));
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

}  // namespace

void check_status(const OpSpec& s, int status) {
  if (status == 0) return;
  const char* text = s.api->last_error();
  TORCH_CHECK_TYPE(status != 1, text);
  TORCH_CHECK_VALUE(status != 2, text);
  if (status == 5) throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, text);
  TORCH_CHECK(false, text);
}

void Runner::read(const torch::jit::Stack& stack, size_t base) {
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const int p = s.arguments[i];
    const at::IValue& v = stack[base + i];
    if (s.is_tensor(p)) {
      tensor(p, tensor_at(v));
    } else {
      read_number(s, p, v, given);
    }
  }
  check_dims();
}

/// Components must lie together, as a kernel reads them; a copy only if they do not.
at::Tensor Runner::packed(int p, const at::Tensor& t) const {
  const WtOpParam& param = s.param(p);
  int64_t expect = 1;
  for (int32_t c = param.component_dims - 1; c >= 0; --c) {
    const int64_t axis = t.dim() - param.component_dims + c;
    if (param.components[c] > 1 && t.stride(axis) != expect) return t.contiguous();
    expect *= param.components[c];
  }
  return t;
}

void Runner::tensor(int p, const at::Tensor& t) {
  check_present(s, p, t);
  if (!t.defined()) {
    arrays_[p] = WtArray{};
    arrays_[p].ndim = s.param(p).ndim;
    return;
  }
  check_tensor(s, p, t);
  const WtOpParam& param = s.param(p);
  set_device(t.device(), param.name);
  at::Tensor& kept = given.tensors[p];
  kept = param.component_dims ? packed(p, t) : t;
  given.set_size(s, p, kept.sizes());
  arrays_[p] = array_of(param, kept, param.role == kMutated, s.batched);
}

void Runner::sizes(int p, std::vector<int64_t> size) {
  given.keep_size(s, p, std::move(size));
  shape_result(p);
}

void Runner::set_device(c10::Device d, const char* name) {
  if (!device_known_) {
    device = d;
    device_known_ = true;
  }
  TORCH_CHECK_VALUE(d == device, s.op->name, "(): argument '", name, "' is on ", d,
                    ", the others are on ", device);
}

void Runner::check_dims() const {
  for (int p : s.arguments)
    TORCH_CHECK_VALUE(
        !s.batched || !given.tensors[p].defined() || given.tensors[p].size(0) == given.batch,
        s.op->name, "(): argument '", s.param(p).name, "' has ", given.tensors[p].size(0),
        " batch entries, another one ", given.batch);
  for (int32_t i = 0; i < s.op->check_count; ++i) {
    const WtDimCheck& c = s.op->checks[i];
    if (!given.tensors[c.param].defined()) continue;
    const int64_t want = eval_shape(s.op->dim[c.d], given);
    const int64_t got = given.sizes[c.param][c.axis];
    TORCH_CHECK_VALUE(got == want, s.op->name, "(): argument '", s.param(c.param).name,
                      "' has size ", got, " in dimension ", c.axis, ", the launch range is ", want);
  }
}

at::Tensor Runner::empty(c10::IntArrayRef size, at::ScalarType dtype) const {
  if (device.is_cpu()) return at::Tensor(at::detail::empty_cpu(size, dtype));  // no dispatch
  return at::empty(size, options(dtype));
}

at::Tensor Runner::zeros(c10::IntArrayRef size, at::ScalarType dtype) const {
  constexpr size_t kSmall = 1 << 16;  // bytes that one thread clears at once
  if (!device.is_cpu() || c10::multiply_integers(size) * c10::elementSize(dtype) > kSmall)
    return at::zeros(size, options(dtype));
  at::Tensor t = empty(size, dtype);
  if (t.nbytes() > 0) std::memset(t.mutable_data_ptr(), 0, t.nbytes());
  return t;
}

std::vector<at::Tensor> Runner::make_results() {
  std::vector<at::Tensor> out;
  out.reserve(s.results.size());
  for (int p : s.results) {
    const WtOpParam& param = s.param(p);
    at::Tensor t;
    if (param.role == kState) {
      t = given.tensors[p].clone(at::MemoryFormat::Contiguous);
    } else if (param.needs_zero) {
      t = zeros(shape_of(p), dtype_of(param));
    } else {
      t = empty(shape_of(p), dtype_of(param));
    }
    arrays_[p] = array_of(param, t, true, s.batched);
    out.push_back(std::move(t));
  }
  return out;
}

void Runner::separate_mutated() {
  for (int m : s.mutated) {
    const at::Tensor& t = given.tensors[m];
    TORCH_CHECK_VALUE(!self_overlapping(t), s.op->name, "(): argument '", s.param(m).name,
                      "' is changed in place, but several of its elements share memory; pass "
                      ".clone() of it");
    for (int p : s.arguments) {
      if (p == m || !given.tensors[p].defined() || !may_share(given.tensors[p], t)) continue;
      TORCH_CHECK_VALUE(s.param(p).role != kMutated, s.op->name, "(): arguments '", s.param(m).name,
                        "' and '", s.param(p).name, "' are changed in place, but share memory");
      if (s.param(p).role != kInput) continue;
      given.tensors[p] = given.tensors[p].clone(at::MemoryFormat::Contiguous);
      given.sizes[p] = given.tensors[p].sizes();
      arrays_[p] = array_of(s.param(p), given.tensors[p], false, s.batched);
    }
  }
}

void Runner::write_back(const torch::jit::Stack& stack, size_t base) const {
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    const int p = s.arguments[i];
    if (s.param(p).role != kMutated) continue;
    const at::Tensor& t = stack[base + i].toTensor();
    if (!t.is_same(given.tensors[p])) t.copy_(given.tensors[p]);
  }
}

void Runner::shape_result(int p) {
  const WtOpParam& param = s.param(p);
  if (param.role == kState && given.tensors[p].defined()) return;
  WtArray a = empty_array(param);
  if (!param.value) {
    const Sizes<int64_t> size =
        param.role == kOutput || param.role == kSum ? shape_of(p) : argument_shape(s, p, given);
    for (int32_t i = 0; i < param.ndim; ++i) a.shape[i] = size[size_t(i) + (s.batched ? 1 : 0)];
  }
  arrays_[p] = a;
}

void Runner::derivative(int p, const at::Tensor& t) {
  derivatives_[p] = array_of(s.param(p), t, true, s.batched);
}

at::Tensor Runner::cotangent(int p, const at::IValue& v, bool changed) const {
  const WtOpParam& param = s.param(p);
  const Sizes<int64_t> shape = param.role == kMutated ? argument_shape(s, p, given) : shape_of(p);
  if (!v.isTensor() || !v.toTensor().defined()) return zeros(shape, dtype_of(param));
  const at::Tensor& g = v.toTensor();
  check_tensor(s, p, g);
  TORCH_CHECK_VALUE(g.sizes() == c10::IntArrayRef(shape), s.op->name, "(): the gradient of '",
                    param.name, "' has shape ", g.sizes(), ", wanted ", c10::IntArrayRef(shape));
  const bool own = changed || param.role == kState || param.role == kMutated;
  return own ? g.clone(at::MemoryFormat::Contiguous) : packed(p, g);
}

WtRun Runner::run() const {
  WtRun r{};
  r.arrays = arrays_.data();
  r.floats = given.floats.data();
  r.ints = given.ints.data();
  for (int64_t& n : r.dim) n = 1;
  for (int32_t d = 0; d < s.op->dim_count; ++d) {
    r.dim[d] = eval_shape(s.op->dim[d], given);
    TORCH_CHECK_VALUE(r.dim[d] >= 0, s.op->name, "(): the launch range would be ", r.dim[d],
                      " in dimension ", d);
  }
  r.batch = given.batch;
  r.deterministic = at::globalContext().deterministicAlgorithms();
  r.mask = mask_.data();
  r.derivatives = derivatives_.data();
  if (device.is_cuda()) {
    r.cuda = 1;
    r.device = device.index();
    r.stream = current_cuda_stream(device.index());
  } else {
    r.parallel_for = &kParallelFor;
  }
  return r;
}

}  // namespace wt::torch_ext
