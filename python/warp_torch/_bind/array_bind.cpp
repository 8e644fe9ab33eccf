// SPDX-License-Identifier: Apache-2.0
// array_bind.cpp: rt::Array as _C.Array; array.py makes the public class of it.
#include <pybind11/stl.h>

#include <cstring>
#include <map>

#include "csrc/autograd/record.h"
#include "csrc/codegen/lower/type_text.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/form_checks.h"
#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {
namespace {

py::object& converter() {
  static auto& fn = *new py::object;
  return fn;
}

/// What counts a write on a tensor.
py::object& version_counter() {
  static auto& fn = *new py::object;
  return fn;
}

py::tuple shape_tuple(const rt::Array& a, const int64_t* values) {
  py::tuple t(a.ndim);
  for (int i = 0; i < a.ndim; ++i) t[i] = values[i];
  return t;
}

rt::Array make_empty(const std::string& device, const std::string& dtype, py::handle shape,
                     py::handle stream) {
  rt::Device& d = device_named(device);
  const auto dims = shape_from(shape, "empty()");
  return rt::empty(d, type_named(dtype), dims, stream_or_current(stream, d));
}

/// The Python object whose memory a storage is. Storages end on any thread, at exit even after the
/// interpreter.
struct Lender {
  PyObject* object;
  uint64_t own_writes = 0;  ///< of the object's version, those that we have counted there

  explicit Lender(py::object o) : object(o.release().ptr()) {}
  ~Lender();
};

/// The memory of tensors that arrays or tapes still use, so that one tensor is one block to a tape
/// however often it is wrapped. Guarded by the GIL.
struct TensorBlock {
  PyObject* tensor;
  const char* data;
  size_t bytes;
  auto operator<=>(const TensorBlock&) const = default;
};
std::map<TensorBlock, std::weak_ptr<rt::Storage>>& tensor_blocks() {
  static auto& blocks = *new std::map<TensorBlock, std::weak_ptr<rt::Storage>>;
  return blocks;
}

Lender::~Lender() {
  if (!Py_IsInitialized()) return;
  py::gil_scoped_acquire gil;
  auto& blocks = tensor_blocks();
  for (auto i = blocks.lower_bound({object, nullptr, 0});
       i != blocks.end() && i->first.tensor == object;) {
    const auto storage = i->second.lock();
    i = storage && !storage->freed ? std::next(i) : blocks.erase(i);
  }
  Py_DECREF(object);
}

/// Only storage_of() below sets it, but memory may have come another way.
Lender* lender_of(const rt::Storage* s) {
  return s ? static_cast<Lender*>(s->lender.get()) : nullptr;
}

/// An array with no storage yet.
rt::Array view_of(const std::string& dtype, uint64_t ptr, py::handle shape, py::handle strides) {
  rt::Array a;
  a.dtype = type_named(dtype);
  const auto dims = shape_from(shape, "array()");
  const auto steps = shape_from(strides, "array()");
  if (dims.size() > rt::kMaxDims || dims.size() != steps.size())
    throw ArgumentValueError(coded("WT613"),
                             cat("array(): got ", dims.size(), " dimensions and ", steps.size(),
                                 " strides; an array has at most ", rt::kMaxDims));
  a.ndim = int(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    a.shape[i] = dims[i];
    a.stride[i] = steps[i];
  }
  a.data = reinterpret_cast<char*>(ptr);
  return a;
}

std::shared_ptr<rt::Storage> storage_of(char* data, size_t bytes, const std::string& device,
                                        py::object owner) {
  auto s = std::make_shared<rt::Storage>();
  s->device = &device_named(device);
  s->data = data;
  s->bytes = bytes;
  s->stream = s->write_stream = current_stream(*s->device);
  s->lender = std::make_shared<Lender>(std::move(owner));
  s->release = [storage = s.get()] { storage->lender.reset(); };
  return s;
}

/// Memory owned by Python: `owner` is kept until the last array on it is gone.
rt::Array wrap(const std::string& device, const std::string& dtype, uint64_t ptr, py::handle shape,
               py::handle strides, py::object owner) {
  rt::Array a = view_of(dtype, ptr, shape, strides);
  const auto [lo, hi] = a.extent();
  a.storage = storage_of(const_cast<char*>(lo), size_t(hi - lo), device, std::move(owner));
  return a;
}

/// Memory of a tensor, whose writes PyTorch counts. `tensor` is the one whose memory it is, of
/// which the array may be a view: it lies at `base`, `bytes` long.
rt::Array wrap_tensor(const std::string& device, const std::string& dtype, uint64_t ptr,
                      py::handle shape, py::handle strides, py::object tensor, uint64_t base,
                      size_t bytes) {
  rt::Array a = view_of(dtype, ptr, shape, strides);
  auto* lo = reinterpret_cast<char*>(base);
  auto& known = tensor_blocks()[{tensor.ptr(), lo, bytes}];
  a.storage = known.lock();
  if (a.storage && !a.storage->freed) return a;
  a.storage = storage_of(lo, bytes, device, std::move(tensor));
  known = a.storage;
  a.storage->outside_version = [lender = lender_of(a.storage.get())]() -> uint64_t {
    if (!Py_IsInitialized()) return 0;
    py::gil_scoped_acquire gil;
    return py::handle(lender->object).attr("_version").cast<uint64_t>() - lender->own_writes;
  };
  return a;
}

/// The tensors that PyTorch has on memory of ours. Each is seen through an empty tensor that shares
/// its version counter and keeps no memory alive, with a weak reference to the tensor itself.
struct ExportedTensors {
  static constexpr size_t kKept = 16;  ///< how many may be gone before those are forgotten

  std::function<uint64_t()> others;
  std::vector<std::pair<py::object, py::object>> tensors;
  uint64_t forgotten = 0;

  ~ExportedTensors() {
    if (!Py_IsInitialized()) {
      for (auto& [counter, tensor] : tensors) counter.release(), tensor.release();
      return;
    }
    py::gil_scoped_acquire gil;
    tensors.clear();
  }
  static uint64_t version(const py::object& counter) {
    return counter.attr("_version").cast<uint64_t>();
  }
  void add(py::object counter, py::object tensor) {
    if (tensors.size() >= kKept)
      std::erase_if(tensors, [this](const auto& t) {
        const bool gone = t.second().is_none();
        if (gone) forgotten += version(t.first);
        return gone;
      });
    tensors.emplace_back(std::move(counter), std::move(tensor));
  }
  uint64_t writes() const {
    uint64_t n = forgotten + (others ? others() : 0);
    if (!Py_IsInitialized()) return n;
    py::gil_scoped_acquire gil;
    for (const auto& t : tensors) n += version(t.first);
    return n;
  }
};

struct ExportedWrites {
  std::shared_ptr<ExportedTensors> state;
  uint64_t operator()() const { return state->writes(); }
};

/// From now on, changes of a tensor on the array's memory count as writes to it.
void watch_tensor(const rt::Array& a, py::object counter, py::object tensor) {
  auto& outside = a.storage->outside_version;
  if (!outside.target<ExportedWrites>()) {
    auto state = std::make_shared<ExportedTensors>();
    state->others = std::move(outside);
    outside = ExportedWrites{std::move(state)};
  }
  outside.target<ExportedWrites>()->state->add(std::move(counter), std::move(tensor));
}

/// All of the memory's gradient as one row of numbers; None if there is none.
py::object flat_gradient(const rt::Array& a) {
  if (!a.defined() || !a.storage->grad) return py::none();
  return py::cast(rt::whole(a.storage->grad, a.dtype));
}

void check_usable(const rt::Array& a, const char* who) {
  if (!a.defined() || a.storage->freed)
    throw ArgumentValueError(coded("WT510"), cat(who, ": the array has been freed"));
}

void fill(const rt::Array& a, py::handle value, py::handle stream) {
  check_usable(a, "fill_()");
  std::vector<char> element(a.item_bytes());
  pack_value(value, a.dtype, element.data(), {.kernel = {}, .name = "fill_()"}, {});
  const rt::Stream s = stream_or_current(stream, a.device());
  autograd::fill(a, element.data(), s);
  count_tensor_write(a);
}

void zero(const rt::Array& a, py::handle stream) {
  check_usable(a, "zero_()");
  const std::vector<char> element(a.item_bytes(), 0);
  const rt::Stream s = stream_or_current(stream, a.device());
  autograd::fill(a, element.data(), s);
  count_tensor_write(a);
}

/// First contents of a new array, zeros for None: no event for a tape.
void fill_new(const rt::Array& a, py::handle value, py::handle stream) {
  std::vector<char> element(a.item_bytes(), 0);
  if (!value.is_none())
    pack_value(value, a.dtype, element.data(), {.kernel = {}, .name = "full()"}, {});
  rt::fill(a, element.data(), stream_or_current(stream, a.device()));
}

void copy(const rt::Array& dst, const rt::Array& src, py::handle stream) {
  check_usable(dst, "copy()");
  check_usable(src, "copy()");
  rt::Device& d =
      dst.device().properties().kind == rt::DeviceKind::kCpu ? src.device() : dst.device();
  const rt::Stream s = stream_or_current(stream, d);
  autograd::copy(dst, src, s);
  count_tensor_write(dst);
}

/// Host bytes (contiguous, the array's own element layout) into the array.
void assign(const rt::Array& dst, py::buffer data, py::handle stream, bool record) {
  check_usable(dst, "assign()");
  py::buffer_info info = data.request();
  const auto bytes = size_t(info.size * info.itemsize);
  if (bytes != size_t(dst.size()) * dst.item_bytes())
    throw ArgumentValueError(coded("WT613"),
                             cat("assign(): got ", bytes, " bytes for ", dst.describe()));
  const rt::Stream s = stream_or_current(stream, dst.device());
  auto write = [&] {
    if (dst.contiguous()) {
      dst.device().copy(dst.data, info.ptr, bytes, s);
    } else {
      rt::Array staged = rt::empty(dst.device(), dst.dtype, {dst.shape, size_t(dst.ndim)}, s);
      dst.device().copy(staged.data, info.ptr, bytes, s);
      rt::copy(dst, staged, s);
    }
    rt::mark_written(dst, s);
  };
  if (record) {
    autograd::overwrite(dst, s, write);
  } else {
    write();
    autograd::made_of_host(dst);
  }
  count_tensor_write(dst);
}

/// The array's elements into host memory, after the work that writes them.
void read(const rt::Array& a, py::buffer out) {
  check_usable(a, "numpy()");
  autograd::read_to_host(a);
  py::buffer_info info = out.request(true);
  const rt::Stream s = current_stream(a.device());
  if (a.storage->write_stream != s) a.device().wait(s, a.storage->write_stream);
  rt::Array packed = rt::contiguous(a, s);
  py::gil_scoped_release release;
  a.device().copy(info.ptr, packed.data, size_t(a.size()) * a.item_bytes(), s);
  a.device().synchronize(s);
  rt::raise_findings(a.device());
}

void free_now(rt::Array& a) {
  check_usable(a, "free()");
  a.storage->give_back();
}

}  // namespace

void count_tensor_write(const rt::Array& a) {
  if (!a.defined() || !a.storage->outside_version || !version_counter()) return;
  Lender* l = lender_of(a.storage.get());
  if (!l) return;  // memory of ours that PyTorch has a tensor on
  version_counter()(py::handle(l->object));
  ++l->own_writes;
}

py::object lender_object(const rt::Array& a) {
  const Lender* l = lender_of(a.storage.get());
  return l ? py::reinterpret_borrow<py::object>(l->object) : py::none();
}

rt::Array array_argument(py::handle value, ir::Type type, const Where& where) {
  if (value.is_none()) return {};
  py::object made;
  if (!py::isinstance<rt::Array>(value)) {
    if (!converter()) throw ArgumentTypeError(coded("WT502"), cat(where, ": not an array"));
    made = converter()(value, ir::to_string(type->elem), type->ndim, where.text());
    value = made;
  }
  const auto& a = value.cast<const rt::Array&>();
  if (a.storage->freed)
    throw ArgumentValueError(coded("WT510"), cat(where, ": the array has been freed"));
  if (a.dtype != type->elem)
    throw ArgumentTypeError(
        coded("WT503"), cat(where, ": got an array of dtype ", lower_detail::python_name(a.dtype),
                            ", wanted ", lower_detail::python_name(type->elem)));
  if (a.ndim != type->ndim)
    throw ArgumentValueError(
        coded("WT504"), cat(where, ": got an array with ", a.ndim,
                            a.ndim == 1 ? " dimension" : " dimensions", ", wanted ", type->ndim));
  return a;
}

std::vector<int64_t> shape_from(py::handle shape, std::string_view who) {
  if (PyIndex_Check(shape.ptr())) return {shape.cast<int64_t>()};
  std::vector<int64_t> out;
  if (!py::isinstance<py::sequence>(shape))
    throw ArgumentTypeError(coded("WT601"), cat(who, ": got ", std::string(py::repr(shape)),
                                                ", wanted an int or a tuple of ints"));
  for (py::handle h : shape) {
    if (!PyIndex_Check(h.ptr()))
      throw ArgumentTypeError(coded("WT601"), cat(who, ": got ", std::string(py::repr(shape)),
                                                  ", wanted an int or a tuple of ints"));
    out.push_back(h.cast<int64_t>());
  }
  return out;
}

namespace {

using ArrayClass = py::class_<rt::Array>;

void set_gradient(rt::Array& a, const rt::Array& g) {
  if (g.dtype != a.dtype || g.storage == a.storage || g.storage->bytes < a.storage->bytes ||
      !std::equal(a.shape, a.shape + rt::kMaxDims, g.shape) ||
      !std::equal(a.stride, a.stride + rt::kMaxDims, g.stride) ||
      g.data - g.storage->data != a.data - a.storage->data)
    throw ArgumentValueError(coded("WT511"), cat("grad: got ", g.describe(), " for ", a.describe(),
                                                 "; a gradient has the array's shape and strides"));
  a.storage->grad = g.storage;
  g.storage->dtype = g.dtype;
  // Memory of others that we have never written is not known to be zero: it is a cotangent.
  if (g.storage->version == g.storage->zero_version && g.storage->lender)
    g.storage->zero_version = ~uint64_t{0};
  a.requires_grad = true;
}

void bind_properties(ArrayClass& c) {
  c.def_property_readonly("shape", [](const rt::Array& a) { return shape_tuple(a, a.shape); })
      .def_property_readonly("strides", [](const rt::Array& a) { return shape_tuple(a, a.stride); })
      .def_readonly("ndim", &rt::Array::ndim)
      .def_property_readonly("size", &rt::Array::size)
      .def_property_readonly("ptr",
                             [](const rt::Array& a) -> py::object {
                               if (!a.data) return py::none();
                               return py::int_(reinterpret_cast<uintptr_t>(a.data));
                             })
      .def_property_readonly("dtype_text", [](const rt::Array& a) { return to_string(a.dtype); })
      .def_property_readonly("item_bytes", &rt::Array::item_bytes)
      .def_property_readonly("device_name",
                             [](const rt::Array& a) { return a.device().properties().name; })
      .def_property_readonly("is_contiguous", &rt::Array::contiguous)
      .def_property_readonly("freed", [](const rt::Array& a) { return a.storage->freed; })
      .def_property_readonly("version", [](const rt::Array& a) { return a.storage->writes(); });
}

void bind_gradient(ArrayClass& c) {
  c.def_property(
      "retain_grad", [](const rt::Array& a) { return a.storage && a.storage->retain_grad; },
      [](rt::Array& a, bool on) {
        if (a.storage) a.storage->retain_grad = on;
      });
  c.def_property(
       "requires_grad",
       [](const rt::Array& a) {
         return a.requires_grad || (a.storage && a.storage->grad && autograd::spreading());
       },
       [](rt::Array& a, bool on) {
         if (on && !ir::is_differentiable(a.dtype)) return;
         a.requires_grad = on;
         if (on) rt::ensure_grad(a, current_stream(a.device()));
       })
      .def("grad_view",
           [](const rt::Array& a) -> py::object {
             rt::Array g = a.grad();
             return g.defined() ? py::cast(g) : py::none();
           })
      .def("set_grad", &set_gradient);
}

void bind_views(ArrayClass& c) {
  c.def_property_readonly("lender", &lender_object).def("flat_gradient", &flat_gradient);
  c.def("shares_memory",
        [](const rt::Array& a, const rt::Array& b) { return rt::may_overlap(a, b); })
      .def("select", &rt::select)
      .def("slice", &rt::slice)
      .def("permute",
           [](const rt::Array& a, std::vector<int> order) { return rt::permute(a, order); })
      .def("reshaped",
           [](const rt::Array& a, py::handle shape) {
             return rt::reshape(a, shape_from(shape, "reshape()"));
           })
      .def("reinterpreted", [](const rt::Array& a, const std::string& dtype) {
        return rt::reinterpret(a, type_named(dtype));
      });
}

void bind_contents(ArrayClass& c) {
  c.def("fill", &fill, py::arg("value"), py::arg("stream") = py::none())
      .def("zero", &zero, py::arg("stream") = py::none())
      .def("assign_bytes", &assign, py::arg("data"), py::arg("stream") = py::none(),
           py::arg("record") = true)
      .def("read_bytes", &read)
      .def("note_host_read",
           [](const rt::Array& a) {
             check_usable(a, "numpy()");
             autograd::read_to_host(a);
             a.storage->exposed = true;
           })
      .def("_computed_on_tape", &autograd::computed_on_tape)
      .def("free", &free_now)
      .def("describe", &rt::Array::describe)
      .def("__wt_descriptor__", [](const rt::Array& a) {
        const WtArray h = a.header();
        return py::bytes(reinterpret_cast<const char*>(&h), sizeof h);
      });
}

}  // namespace

void bind_array(py::module_& m) {
  ArrayClass c(m, "Array", py::dynamic_attr());
  c.def(py::init<>()).def(py::init<const rt::Array&>());
  bind_properties(c);
  bind_gradient(c);
  bind_views(c);
  bind_contents(c);
  m.def("empty", &make_empty, py::arg("device"), py::arg("dtype"), py::arg("shape"),
        py::arg("stream") = py::none());
  m.def("wrap", &wrap);
  m.def("wrap_tensor", &wrap_tensor);
  m.def("set_version_counter", [](py::object fn) { version_counter() = std::move(fn); });
  m.def("copy", &copy, py::arg("dst"), py::arg("src"), py::arg("stream") = py::none());
  m.def("fill_new", &fill_new);
  m.def("watch_tensor", &watch_tensor, py::arg("array"), py::arg("counter"), py::arg("tensor"));
  m.def("set_array_converter", [](py::object fn) { converter() = std::move(fn); });
}

}  // namespace wt::bind
