// SPDX-License-Identifier: Apache-2.0
// launch_bind.cpp: launches with Python arguments.
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>

#include "csrc/autograd/prepared.h"
#include "csrc/autograd/record.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/form_checks.h"
#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {
namespace {

using KernelPtr = std::shared_ptr<rt::Kernel>;

rt::LaunchShape shape_of(py::handle dim) {
  const auto dims = shape_from(dim, "launch(dim=...)");
  if (dims.empty() || dims.size() > rt::kMaxDims)
    throw ArgumentValueError(coded("WT507"), cat("launch(dim=...): got ", dims.size(),
                                                 " dimensions, wanted 1 to ", rt::kMaxDims));
  rt::LaunchShape shape;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0)
      throw ArgumentValueError(coded("WT507"),
                               cat("launch(dim=...): dim[", i, "] is ", dims[i], ", must be >= 0"));
    shape.dim[i] = dims[i];
  }
  return shape;
}

/// Argument packing and its checks, one object a launch.
class Packer {
 public:
  Packer(KernelPtr kernel, py::handle device) {
    call_.kernel = std::move(kernel);
    const Form& form = call_.form();
    call_.block.assign(form.layout.size, 0);
    if (!device.is_none()) call_.device = &device_named(device.cast<std::string>());
  }

  /// The arguments are those of `inputs`, then those of `outputs`.
  void pack(std::span<PyObject* const> inputs, std::span<PyObject* const> outputs = {}) {
    const KernelInfo& info = call_.kernel->info();
    const size_t count = inputs.size() + outputs.size();
    if (count != info.params.size())
      throw ArgumentValueError(coded("WT501"),
                               cat("launch of ", info.name, ": got ", count, " arguments, wanted ",
                                   info.params.size(), " (", names(), ")"));
    const auto& offsets = call_.form().layout.offsets;
    for (size_t i = 0; i < count; ++i) {
      const ParamInfo& p = info.params[i];
      PyObject* value = i < inputs.size() ? inputs[i] : outputs[i - inputs.size()];
      pack_value(value, p.type, call_.block.data() + offsets[i],
                 Where{.kernel = info.name, .name = p.name},
                 Packing{call_.block.data(), int(i), &call_.arrays});
    }
    check_devices();
  }

  autograd::Call take(const rt::LaunchShape& shape, py::handle stream) {
    call_.shape = shape;
    if (shape.total() > 0) check_missing();
    call_.stream = stream_or_current(stream, *call_.device);
    return std::move(call_);
  }

  bool has_device() const { return call_.device != nullptr; }
  void set_device(rt::Device& d) { call_.device = &d; }

 private:
  std::string names() const {
    std::vector<std::string> all;
    for (const ParamInfo& p : call_.kernel->info().params) all.push_back(p.name);
    return join(all, ", ");
  }

  /// An array that each thread accesses has to be there. Checked mode reports the access itself.
  void check_missing() {
    if (rt::check_mode().indices) return;
    const KernelInfo& info = call_.kernel->info();
    for (size_t i = 0; i < info.params.size(); ++i) {
      const ParamInfo& p = info.params[i];
      for (const size_t offset : p.required) {
        const size_t at = call_.form().layout.offsets[i] + offset;
        const bool given = std::any_of(call_.arrays.begin(), call_.arrays.end(),
                                       [at](const auto& b) { return b.offset == at; });
        if (given) continue;
        const bool field = p.type->kind == ir::Kind::kStruct;
        throw ArgumentValueError(coded("WT509"),
                                 cat("launch of ", info.name, ", argument '", p.name,
                                     "': ", field ? "an array in it is not set" : "got None",
                                     ", and every thread accesses it"));
      }
    }
  }

  void check_devices() {
    for (const auto& b : call_.arrays) {
      rt::Device& d = b.array.device();
      if (!call_.device) call_.device = &d;
      if (&d == call_.device) continue;
      throw ArgumentValueError(
          coded("WT505"),
          cat("launch of ", call_.kernel->info().name, " on ", call_.device->properties().name,
              ": argument '", call_.kernel->info().params[b.param].name, "' is on ",
              d.properties().name, "; move it with .to(\"", call_.device->properties().name,
              "\")"));
    }
  }

  autograd::Call call_;
};

/// The items of a list or tuple; of another iterable, a list of them that `keep` owns.
std::span<PyObject* const> items_of(py::handle sequence, py::object& keep) {
  if (py::isinstance<rt::Array>(sequence))
    throw ArgumentTypeError(coded("WT502", "put it into a list: inputs=[x]"),
                            "launch(): inputs and outputs are lists of arguments, got an array");
  keep = py::reinterpret_steal<py::object>(
      PySequence_Fast(sequence.ptr(), "launch(): inputs and outputs are lists of arguments"));
  if (!keep) throw py::error_already_set();
  return {PySequence_Fast_ITEMS(keep.ptr()), size_t(PySequence_Fast_GET_SIZE(keep.ptr()))};
}

autograd::Call prepare(KernelPtr kernel, py::handle dim, py::sequence args, py::handle device,
                       const std::string& default_device, py::handle stream) {
  Packer packer(std::move(kernel), device);
  py::object keep;
  packer.pack(items_of(args, keep));
  if (!packer.has_device()) packer.set_device(device_named(default_device));
  return packer.take(shape_of(dim), stream);
}

py::object& tensor_check() {
  static auto& fn = *new py::object;
  return fn;
}

/// Arrays that launches off every tape computed from tensors which require a gradient, and the
/// kernel. Guarded by the GIL.
using Lost = std::map<std::weak_ptr<rt::Storage>, std::string, std::owner_less<>>;
Lost& lost_arrays() {
  static auto& arrays = *new Lost;
  return arrays;
}

/// Tells interop.py of arguments that are tensors with a gradient, before the launch. True if the
/// launch takes values out of PyTorch's graph.
bool leaves_graph(const autograd::Call& call) {
  py::list found;
  for (const auto& b : call.arrays) {
    if (!b.array.storage->outside_version) continue;
    const py::object t = lender_object(b.array);
    if (t.is_none()) continue;  // memory of ours that PyTorch has a tensor on
    if (!t.attr("requires_grad").cast<bool>()) continue;
    const ParamInfo& p = call.kernel->info().params[b.param];
    found.append(py::make_tuple(t, p.name, p.writes(), p.loads && b.array.requires_grad));
  }
  if (found.empty() || !tensor_check()) return false;
  return tensor_check()(call.kernel->info().name, found).cast<bool>();
}

void note_lost(const autograd::Call& call) {
  Lost& lost = lost_arrays();
  std::erase_if(lost, [](const auto& entry) { return entry.first.expired(); });
  for (const auto& b : call.arrays)
    if (call.kernel->info().params[b.param].writes())
      lost[b.array.storage] = call.kernel->info().name;
}

/// The kernel that wrote the array from tensors with a gradient, off every tape; None otherwise.
py::object lost_by(const rt::Array& a) {
  const auto it = lost_arrays().find(a.storage);
  return it == lost_arrays().end() ? py::object(py::none()) : py::str(it->second);
}

void run(autograd::Call call, bool record) {
  if (leaves_graph(call)) note_lost(call);
  std::vector<rt::Array> tensors;
  for (const auto& b : call.arrays)
    if (b.array.storage->outside_version && call.kernel->info().params[b.param].writes())
      tensors.push_back(b.array);
  {
    py::gil_scoped_release release;
    if (record) {
      autograd::launch(std::move(call));
    } else {
      autograd::run_forward(call);
      autograd::count_writes(call);
    }
  }
  for (const rt::Array& t : tensors) count_tensor_write(t);
}

/// Threads that a block has where a kernel can tell and the launch does not say.
constexpr int32_t kUsualBlock = 256;

void set_blocks(autograd::Call& call, int32_t block, int64_t max_blocks) {
  if (block == 0 && call.kernel->info().blocks) block = kUsualBlock;
  call.shape.block = block;
  if (max_blocks > 0) call.shape.max_lanes = max_blocks * (block ? block : kUsualBlock);
}

void launch(KernelPtr kernel, py::handle dim, py::sequence args, py::handle device,
            const std::string& default_device, py::handle stream, bool record, int32_t block,
            int64_t max_blocks) {
  autograd::Call call =
      prepare(std::move(kernel), dim, std::move(args), device, default_device, stream);
  set_blocks(call, block, max_blocks);
  run(std::move(call), record);
}

/// launch_here(kernel, dim, inputs, outputs, record, block): a launch on the device of its arrays,
/// on the current stream. False, and nothing is done, if no argument is an array.
PyObject* launch_here(PyObject*, PyObject* const* args, Py_ssize_t count) {
  try {
    WT_CHECK(count == 6, "launch_here takes 6 arguments");
    Packer packer(py::cast<KernelPtr>(py::handle(args[0])), py::none());
    py::object keep[2];
    const auto inputs = items_of(args[2], keep[0]);
    packer.pack(inputs, items_of(args[3], keep[1]));
    if (!packer.has_device()) Py_RETURN_FALSE;
    autograd::Call call = packer.take(shape_of(args[1]), {});
    set_blocks(call, py::handle(args[5]).cast<int32_t>(), 0);
    run(std::move(call), args[4] == Py_True);
    Py_RETURN_TRUE;
  } catch (...) {
    py::detail::try_translate_exceptions();
    return nullptr;
  }
}

/// A launch whose arguments are packed once, to be repeated.
class PackedLaunch {
 public:
  PackedLaunch(KernelPtr kernel, py::handle dim, py::sequence args, py::handle device,
               const std::string& default_device, int32_t block, int64_t max_blocks)
      : call_(prepare(std::move(kernel), dim, std::move(args), device, default_device, {})) {
    set_blocks(call_, block, max_blocks);
  }

  /// On the given stream, or the current one.
  void launch(py::handle stream, bool record) {
    for (const auto& b : call_.arrays)
      if (b.array.storage->freed)
        throw ArgumentValueError(
            coded("WT510"),
            cat("launch of ", call_.kernel->info().name, ", argument '",
                call_.kernel->info().params[b.param].name, "': the array has been freed"));
    call_.stream = stream_or_current(stream, *call_.device);
    if (record && autograd::recording()) return run(call_, true);
    {
      py::gil_scoped_release release;
      autograd::run_forward(call_);
      autograd::count_writes(call_);
    }
    for (const auto& b : call_.arrays)
      if (b.array.storage->outside_version && call_.kernel->info().params[b.param].writes())
        count_tensor_write(b.array);
  }

 private:
  autograd::Call call_;
};

PyMethodDef launch_here_def = {
    "launch_here", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&launch_here)),
    METH_FASTCALL, nullptr};

/// The gradient array that an array argument has of its own; undefined if it has none.
rt::Array own_gradient(const autograd::Call& call, size_t param) {
  for (const auto& b : call.arrays) {
    const bool whole = call.kernel->info().params[param].type->kind == ir::Kind::kArray;
    if (whole && b.param == int(param) && b.array.requires_grad) return b.array.grad();
  }
  return {};
}

/// The gradient that the caller gives for a parameter of an adjoint launch; for None, the array's
/// own.
rt::Array given_gradient(py::handle g, const autograd::Call& call, size_t param) {
  const ParamInfo& p = call.kernel->info().params[param];
  const std::string what =
      cat("adjoint launch of ", call.kernel->info().name, ", gradient of '", p.name, "'");
  if (g.is_none()) return own_gradient(call, param);
  if (!py::isinstance<rt::Array>(g) || p.type->kind == ir::Kind::kStruct) {
    // A value takes no gradient from a number, which is what Warp's callers write for one.
    const bool value = p.type->kind != ir::Kind::kArray && p.type->kind != ir::Kind::kStruct;
    if (value || !ir::is_differentiable(p.type)) return {};
    throw ArgumentTypeError(
        coded("WT511"),
        cat(what, ": wanted an array, or None where no gradient is wanted",
            p.type->kind == ir::Kind::kStruct ? "; gradients of structs need Tape" : ""));
  }
  const auto& a = g.cast<const rt::Array&>();
  const ir::Type type = p.type->kind == ir::Kind::kArray ? p.type : ir::array_type(p.type, 1);
  rt::Array checked = array_argument(g, type, {.kernel = {}, .name = what});
  for (const auto& b : call.arrays)
    if (b.param == int(param) && !std::equal(a.shape, a.shape + rt::kMaxDims, b.array.shape))
      throw ArgumentValueError(coded("WT511"),
                               cat(what, ": got ", a.describe(), " for ", b.array.describe()));
  return checked;
}

/// The gradient that the adjoint works on. It sets that of what a kernel overwrites to zero, which
/// the caller must not see in an output's: it may be PyTorch's and serve others too.
rt::Array own_gradient(const rt::Array& given, const ParamInfo& p, rt::Stream stream) {
  if (!p.stores || p.loads) return given;
  rt::Array own = rt::empty(given.device(), given.dtype, {given.shape, size_t(given.ndim)}, stream);
  rt::copy(own, given, stream);
  return own;
}

/// Adjoint launch by hand: gradients given by the caller, None where there is none.
void launch_adjoint(KernelPtr kernel, py::handle dim, py::sequence args, py::sequence adjoints,
                    py::handle device, const std::string& default_device, py::handle stream) {
  autograd::Call call =
      prepare(std::move(kernel), dim, std::move(args), device, default_device, stream);
  const size_t n = call.kernel->info().params.size();
  if (adjoints.size() > n)
    throw ArgumentValueError(coded("WT511"),
                             cat("adjoint launch of ", call.kernel->info().name, ": got ",
                                 adjoints.size(), " gradients for ", n, " parameters"));
  ad::Mask mask(n, false);
  std::vector<rt::Array> held;
  std::vector<std::vector<WtArray>> grads(n);
  bool overlap = false;
  for (size_t i = 0; i < adjoints.size(); ++i) {
    rt::Array a = given_gradient(adjoints[i], call, i);
    if (!a.defined()) continue;
    a = own_gradient(a, call.kernel->info().params[i], call.stream);
    mask[i] = true;
    grads[i].push_back(a.header());
    overlap |= a.self_overlapping();
    for (const rt::Array& other : held) overlap |= rt::may_overlap(a, other);
    held.push_back(a);
  }
  py::gil_scoped_release release;
  const autograd::Prepared p = autograd::prepare(std::move(call), std::move(mask), overlap);
  for (size_t i = 0; i < n; ++i)
    if (p.mask[i] && grads[i].empty())
      throw GradientError(coded("WT511"),
                          cat("adjoint launch of ", p.call.kernel->info().name, ": '",
                              p.call.kernel->info().params[i].name,
                              "' shares its array with another argument; give its gradient"));
  if (p.form->augmented)
    throw GradientError(coded("WT654"),
                        cat("adjoint launch of ", p.call.kernel->info().name,
                            ": its gradient needs values that only a recorded forward launch "
                            "saves; use Tape or kernel_op"));
  const autograd::RowLayout history = autograd::history_layout(p.call, *p.form);
  rt::Array scratch;
  if (history.bytes) scratch = autograd::byte_array(p.call, history.bytes);
  autograd::run_adjoint({p.call, *p.form, p.mask, grads, {}, {}, history.at(scratch.data)});
  for (const rt::Array& a : held) rt::mark_written(a, p.call.stream);
}

}  // namespace

void bind_launch(py::module_& m) {
  m.def("launch", &launch, py::arg("kernel"), py::arg("dim"), py::arg("args"),
        py::arg("device") = py::none(), py::arg("default_device") = "cpu",
        py::arg("stream") = py::none(), py::arg("record") = true, py::arg("block") = 0,
        py::arg("max_blocks") = 0);
  m.def("set_tensor_check", [](py::object fn) { tensor_check() = std::move(fn); });
  m.def("lost_by", &lost_by);
  m.add_object("launch_here",
               py::reinterpret_steal<py::object>(PyCFunction_New(&launch_here_def, nullptr)));
  py::class_<PackedLaunch>(m, "PackedLaunch")
      .def(py::init<KernelPtr, py::handle, py::sequence, py::handle, const std::string&, int32_t,
                    int64_t>())
      .def("launch", &PackedLaunch::launch);
  m.def("launch_adjoint", &launch_adjoint, py::arg("kernel"), py::arg("dim"), py::arg("args"),
        py::arg("adjoints"), py::arg("device") = py::none(), py::arg("default_device") = "cpu",
        py::arg("stream") = py::none());
}

}  // namespace wt::bind
