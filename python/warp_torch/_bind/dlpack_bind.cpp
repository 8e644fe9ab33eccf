// SPDX-License-Identifier: Apache-2.0
// dlpack_bind.cpp: arrays to and from DLPack capsules, without copies. interop.py is in front of
// it.
//
// An exported tensor holds its array; its deleter may run on any thread, without the GIL and after
// the interpreter. An imported one is held by the array's storage and given back with it.
#include <ATen/dlpack.h>

#include <memory>
#include <optional>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {
namespace {

constexpr const char* kPlain = "dltensor";
constexpr const char* kVersioned = "dltensor_versioned";

struct ScalarCode {
  ir::Scalar scalar;
  uint8_t code, bits;
};
constexpr ScalarCode kCodes[] = {
    {ir::Scalar::kBool, kDLBool, 8},    {ir::Scalar::kI8, kDLInt, 8},
    {ir::Scalar::kU8, kDLUInt, 8},      {ir::Scalar::kI16, kDLInt, 16},
    {ir::Scalar::kU16, kDLUInt, 16},    {ir::Scalar::kI32, kDLInt, 32},
    {ir::Scalar::kU32, kDLUInt, 32},    {ir::Scalar::kI64, kDLInt, 64},
    {ir::Scalar::kU64, kDLUInt, 64},    {ir::Scalar::kF16, kDLFloat, 16},
    {ir::Scalar::kBF16, kDLBfloat, 16}, {ir::Scalar::kF32, kDLFloat, 32},
    {ir::Scalar::kF64, kDLFloat, 64}};

DLDataType code_of(ir::Scalar s) {
  for (const ScalarCode& c : kCodes)
    if (c.scalar == s) return {c.code, c.bits, 1};
  throw InternalError("a scalar type that DLPack has not");
}

std::vector<int64_t> component_shape(ir::Type t) {
  switch (t->kind) {
    case ir::Kind::kVec:
      return {t->rows};
    case ir::Kind::kMat:
      return {t->rows, t->cols};
    case ir::Kind::kQuat:
      return {4};
    case ir::Kind::kXform:
      return {7};
    default:
      return {};
  }
}

[[noreturn]] void cannot_export(const std::string& why) {
  throw py::buffer_error("__dlpack__(): " + why);
}

DLDevice device_code(const rt::Device& d) {
  const rt::DeviceProperties& p = d.properties();
  if (p.kind == rt::DeviceKind::kCpu) return {kDLCPU, 0};
  return {kDLCUDA, p.index};
}

/// What an exported tensor keeps alive.
struct Exported {
  rt::Array array;
  int64_t shape[rt::kMaxDims + 2];
  int64_t strides[rt::kMaxDims + 2];
  DLManagedTensor plain{};
  DLManagedTensorVersioned versioned{};
};

void fill_tensor(Exported& e, DLTensor& t) {
  const rt::Array& a = e.array;
  const auto parts = component_shape(a.dtype);
  const auto scalar = int64_t(ir::bits(a.dtype->scalar)) / 8;
  int n = 0;
  for (; n < a.ndim; ++n) {
    if (a.stride[n] % scalar != 0)
      cannot_export(
          cat("a stride of ", a.stride[n], " bytes is no multiple of the element's ", scalar));
    e.shape[n] = a.shape[n];
    e.strides[n] = a.stride[n] / scalar;
  }
  int64_t step = 1;
  for (size_t i = parts.size(); i-- > 0;) {
    e.shape[n + int(i)] = parts[i];
    e.strides[n + int(i)] = step;
    step *= parts[i];
  }
  t.data = a.size() ? a.data : nullptr;
  t.device = device_code(a.device());
  t.ndim = n + int(parts.size());
  t.dtype = code_of(a.dtype->scalar);
  t.shape = e.shape;
  t.strides = e.strides;
  t.byte_offset = 0;
}

template <typename Managed>
void delete_exported(Managed* m) {
  delete static_cast<Exported*>(m->manager_ctx);
}

/// A capsule that nobody has taken still owns its tensor.
template <typename Managed>
void drop_capsule(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (m && m->deleter) m->deleter(m);
}
void drop_plain(PyObject* c) { drop_capsule<DLManagedTensor>(c, kPlain); }
void drop_versioned(PyObject* c) { drop_capsule<DLManagedTensorVersioned>(c, kVersioned); }

py::object capsule_of(rt::Array array, bool versioned, bool copied) {
  auto e = std::make_unique<Exported>();
  e->array = std::move(array);
  PyObject* capsule = nullptr;
  if (versioned) {
    DLManagedTensorVersioned& m = e->versioned;
    m.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    m.manager_ctx = e.get();
    m.deleter = &delete_exported<DLManagedTensorVersioned>;
    m.flags = copied ? DLPACK_FLAG_BITMASK_IS_COPIED : 0;
    fill_tensor(*e, m.dl_tensor);
    capsule = PyCapsule_New(&m, kVersioned, &drop_versioned);
  } else {
    DLManagedTensor& m = e->plain;
    m.manager_ctx = e.get();
    m.deleter = &delete_exported<DLManagedTensor>;
    fill_tensor(*e, m.dl_tensor);
    capsule = PyCapsule_New(&m, kPlain, &drop_plain);
  }
  if (!capsule) throw py::error_already_set();
  e.release();
  return py::reinterpret_steal<py::object>(capsule);
}

/// The stream that `stream=` of __dlpack__ names on a GPU; nothing for -1.
std::optional<rt::Stream> consumer_stream(py::handle stream) {
  if (stream.is_none()) return rt::Stream{};
  const auto s = stream.cast<int64_t>();
  if (s == -1) return std::nullopt;
  if (s == 0)
    cannot_export("stream=0 is ambiguous; 1 is the legacy default stream, 2 the per-thread one");
  if (s == 1) return rt::Stream{};
  return rt::Stream{reinterpret_cast<void*>(s)};
}

/// Makes the consumer's stream wait for what writes the array.
void order_after_writes(const rt::Array& a, py::handle stream) {
  rt::Device& d = a.device();
  if (d.properties().kind == rt::DeviceKind::kCpu) {
    if (!stream.is_none() && stream.cast<int64_t>() != -1)
      cannot_export("the array is on the CPU, which has no streams; wanted stream=None");
    return;
  }
  const auto consumer = consumer_stream(stream);
  if (!consumer) return;
  const rt::Stream current = current_stream(d);
  for (const rt::Stream on : {a.storage->write_stream, current})
    if (on != *consumer) d.wait(*consumer, on);
}

/// A copy for another device or for copy=True.
rt::Array copied(const rt::Array& a, rt::Device& to) {
  rt::Device& from = a.device();
  const rt::Stream s = current_stream(from.properties().kind == rt::DeviceKind::kCpu ? to : from);
  if (a.storage->write_stream != s) from.wait(s, a.storage->write_stream);
  const rt::Array packed = rt::contiguous(a, s);
  rt::Array out = rt::empty(to, a.dtype, {a.shape, size_t(a.ndim)}, s);
  py::gil_scoped_release release;
  rt::copy(out, packed, s);
  if (&to != &from) from.synchronize(s);
  return out;
}

/// array.__dlpack__. BufferError is what the protocol asks for.
py::object to_dlpack(const rt::Array& a, py::handle stream, py::handle max_version,
                     py::handle dl_device, py::handle copy) {
  if (!a.defined() || a.storage->freed) cannot_export("the array has been freed");
  if (a.dtype->kind == ir::Kind::kStruct) cannot_export("DLPack has no arrays of structs");
  const bool versioned =
      !max_version.is_none() && max_version.cast<py::tuple>()[0].cast<int>() >= 1;
  rt::Device* to = &a.device();
  if (!dl_device.is_none()) {
    const auto wanted = dl_device.cast<py::tuple>();
    const DLDevice own = device_code(a.device());
    const int type = py::int_(wanted[0]), id = py::int_(wanted[1]);
    if (type != own.device_type || id != own.device_id) {
      if (type != kDLCPU)
        cannot_export(cat("the array is on ", a.device().properties().name,
                          " and is exported to there or to the CPU; move it with .to(...)"));
      to = &device_named("cpu");
    }
  }
  a.storage->exposed = true;
  const bool may_copy = copy.is_none() || copy.cast<bool>();
  const bool must_copy = to != &a.device() || (!copy.is_none() && copy.cast<bool>());
  if (must_copy && !may_copy)
    cannot_export("copy=False, but the other device has no access to the array's memory");
  if (must_copy) {
    rt::Array fresh = copied(a, *to);
    if (to == &a.device()) order_after_writes(fresh, stream);
    return capsule_of(std::move(fresh), versioned, true);
  }
  order_after_writes(a, stream);
  return capsule_of(a, versioned, false);
}

py::tuple dlpack_device(const rt::Array& a) {
  const DLDevice d = device_code(a.device());
  return py::make_tuple(int(d.device_type), d.device_id);
}

ir::Scalar scalar_of(const DLDataType& t) {
  for (const ScalarCode& c : kCodes)
    if (c.code == t.code && c.bits == t.bits && t.lanes == 1) return c.scalar;
  throw ArgumentTypeError(coded("WT621"),
                          cat("from_dlpack(): DLPack type (code ", int(t.code), ", ", int(t.bits),
                              " bits, ", t.lanes, " lanes) has no kernel type"));
}

/// Shape and strides of `t` as an array of `dtype`: its last dimensions are the components.
void set_geometry(rt::Array& a, const DLTensor& t) {
  const auto parts = component_shape(a.dtype);
  const int ndim = t.ndim - int(parts.size());
  const auto scalar = int64_t(ir::bits(a.dtype->scalar)) / 8;
  if (ndim < 0 || ndim > rt::kMaxDims)
    throw ArgumentValueError(
        coded("WT614"), cat("from_dlpack(): got ", t.ndim, " dimensions, wanted ", parts.size(),
                            " of the components and at most ", rt::kMaxDims, " of the array"));
  std::vector<int64_t> stride(size_t(t.ndim), 0);
  int64_t step = 1, size = 1;
  for (int i = t.ndim; i-- > 0; step *= t.shape[i])
    stride[size_t(i)] = t.strides ? t.strides[i] : step;
  for (int i = 0; i < t.ndim; ++i) size *= t.shape[i];
  step = 1;
  for (size_t i = parts.size(); i-- > 0; step *= parts[i]) {
    const size_t d = size_t(ndim) + i;
    if (t.shape[d] != parts[i])
      throw ArgumentValueError(coded("WT615"),
                               cat("from_dlpack(): dimension ", d, " has size ", t.shape[d], ", ",
                                   ir::to_string(a.dtype), " has ", parts[i]));
    if (size && parts[i] > 1 && stride[d] != step)
      throw ArgumentValueError(coded("WT615"),
                               "from_dlpack(): the components do not lie together; hand over a "
                               "contiguous copy");
  }
  a.ndim = std::max(ndim, 1);
  a.stride[0] = int64_t(a.item_bytes());
  for (int i = 0; i < ndim; ++i) {
    a.shape[i] = t.shape[i];
    a.stride[i] = stride[size_t(i)] * scalar;
  }
  a.data = t.data ? static_cast<char*>(t.data) + t.byte_offset : nullptr;
  if (size && !a.data)
    throw ArgumentValueError(coded("WT620"), "from_dlpack(): the tensor has no memory");
  if (size && reinterpret_cast<uintptr_t>(a.data) % uintptr_t(scalar) != 0)
    throw ArgumentValueError(coded("WT620"),
                             cat("from_dlpack(): the memory is not aligned to ", scalar, " bytes"));
}

/// Takes over `m`: it is given back with the array's storage, or here if it does not fit.
template <typename Managed>
rt::Array import(Managed* m, const std::string& dtype) {
  std::shared_ptr<Managed> held(m, [](Managed* p) {
    if (p->deleter) p->deleter(p);
  });
  const DLTensor& t = m->dl_tensor;
  rt::Array a;
  const ir::Scalar scalar = scalar_of(t.dtype);
  a.dtype = dtype.empty() ? ir::scalar_type(scalar) : type_named(dtype);
  if (a.dtype->kind == ir::Kind::kStruct || a.dtype->scalar != scalar)
    throw ArgumentTypeError(coded("WT619"),
                            cat("from_dlpack(): a tensor of ", ir::to_string(scalar),
                                " is no array of ", ir::to_string(a.dtype)));
  set_geometry(a, t);
  auto s = std::make_shared<rt::Storage>();
  s->device = &device_from_code(t.device.device_type, t.device.device_id);
  s->stream = s->write_stream = current_stream(*s->device);
  const auto [lo, hi] = a.extent();
  s->data = const_cast<char*>(lo);
  s->bytes = size_t(hi - lo);
  s->release = [held]() mutable { held.reset(); };
  a.storage = std::move(s);
  return a;
}

void mark_used(py::handle capsule, const char* name) {
  if (PyCapsule_SetName(capsule.ptr(), name) != 0) throw py::error_already_set();
}

rt::Array from_capsule(py::handle capsule, const std::string& dtype) {
  if (PyCapsule_IsValid(capsule.ptr(), kVersioned)) {
    auto* m =
        static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule.ptr(), kVersioned));
    if (m->version.major != DLPACK_MAJOR_VERSION)
      throw ArgumentValueError(coded("WT620"),
                               cat("from_dlpack(): the tensor is of DLPack ", m->version.major, ".",
                                   m->version.minor, ", known is ", DLPACK_MAJOR_VERSION));
    if (m->flags & DLPACK_FLAG_BITMASK_READ_ONLY)
      throw ArgumentValueError(coded("WT620"),
                               "from_dlpack(): the memory is read-only, and a kernel may write to "
                               "any array; hand over a copy");
    mark_used(capsule, "used_dltensor_versioned");
    return import(m, dtype);
  }
  if (!PyCapsule_IsValid(capsule.ptr(), kPlain))
    throw ArgumentTypeError(coded("WT620"),
                            "from_dlpack(): wanted a DLPack capsule that nobody has taken yet");
  auto* m = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kPlain));
  mark_used(capsule, "used_dltensor");
  return import(m, dtype);
}

}  // namespace

rt::Device& device_from_code(int type, int id) {
  if (type == kDLCPU || type == kDLCUDAHost) return device_named("cpu");
  if (type == kDLCUDA || type == kDLCUDAManaged) return device_named(cat("cuda:", id));
  throw ArgumentValueError(
      coded("WT620"),
      cat("DLPack device type ", type, " is not supported; wanted the CPU (1, 3) or CUDA (2, 13)"));
}

void bind_dlpack(py::module_& m) {
  m.def("to_dlpack", &to_dlpack, py::arg("array"), py::arg("stream") = py::none(),
        py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(),
        py::arg("copy") = py::none());
  m.def("dlpack_device", &dlpack_device);
  m.def("from_capsule", &from_capsule, py::arg("capsule"), py::arg("dtype") = "");
}

}  // namespace wt::bind
