// SPDX-License-Identifier: Apache-2.0
// kernel_bind.cpp: kernels, and launches with Python arguments.
#include <pybind11/stl.h>

#include <optional>

#include "csrc/autograd/prepared.h"
#include "csrc/autograd/record.h"
#include "csrc/codegen/support/error.h"
#include "csrc/runtime/target.h"
#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {
namespace {

using KernelPtr = std::shared_ptr<rt::Kernel>;

KernelPtr make_kernel(const std::string& ast, const std::string& entry,
                      const std::vector<std::string>& generics) {
  std::vector<ir::Type> types;
  for (const std::string& t : generics) types.push_back(type_named(t));
  py::gil_scoped_release release;
  return std::make_shared<rt::Kernel>(Program::from_ast(ast, entry, types));
}

/// A kernel from the text of its IR, as source("ir") prints it.
KernelPtr kernel_from_ir(const std::string& text) {
  py::gil_scoped_release release;
  auto module = ir::parse(text);
  if (module->funcs.size() != 1)
    throw ArgumentValueError(
        cat("kernel_from_ir(): got ", module->funcs.size(), " functions, wanted one kernel"));
  const std::string entry = module->funcs.front()->name;
  return std::make_shared<rt::Kernel>(Program::from_ir(std::move(module), entry));
}

rt::LaunchShape shape_of(py::handle dim) {
  const auto dims = shape_from(dim, "launch(dim=...)");
  if (dims.empty() || dims.size() > rt::kMaxDims)
    throw ArgumentValueError(
        cat("launch(dim=...): got ", dims.size(), " dimensions, wanted 1 to ", rt::kMaxDims));
  rt::LaunchShape shape;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0)
      throw ArgumentValueError(cat("launch(dim=...): dim[", i, "] is ", dims[i], ", must be >= 0"));
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

  void pack(py::sequence args) {
    const auto& params = call_.kernel->info().params;
    if (args.size() != params.size())
      throw ArgumentValueError(cat("launch of ", call_.kernel->info().name, ": got ", args.size(),
                                   " arguments, wanted ", params.size(), " (", names(), ")"));
    for (size_t i = 0; i < params.size(); ++i) {
      const ParamInfo& p = params[i];
      const Packing packing{call_.block.data(), int(i), &call_.arrays};
      pack_value(py::object(args[i]), p.type, call_.block.data() + call_.form().layout.offsets[i],
                 cat("launch of ", call_.kernel->info().name, ", argument '", p.name, "'"),
                 packing);
    }
    check_devices();
  }

  autograd::Call take(const rt::LaunchShape& shape, py::handle stream) {
    call_.shape = shape;
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

  void check_devices() {
    for (const auto& b : call_.arrays) {
      rt::Device& d = b.array.device();
      if (!call_.device) call_.device = &d;
      if (&d == call_.device) continue;
      throw ArgumentValueError(cat(
          "launch of ", call_.kernel->info().name, " on ", call_.device->properties().name,
          ": argument '", call_.kernel->info().params[b.param].name, "' is on ",
          d.properties().name, "; move it with .to(\"", call_.device->properties().name, "\")"));
    }
  }

  autograd::Call call_;
};

autograd::Call prepare(KernelPtr kernel, py::handle dim, py::sequence args, py::handle device,
                       const std::string& default_device, py::handle stream) {
  Packer packer(std::move(kernel), device);
  packer.pack(std::move(args));
  if (!packer.has_device()) packer.set_device(device_named(default_device));
  return packer.take(shape_of(dim), stream);
}

void launch(KernelPtr kernel, py::handle dim, py::sequence args, py::handle device,
            const std::string& default_device, py::handle stream, bool record) {
  autograd::Call call =
      prepare(std::move(kernel), dim, std::move(args), device, default_device, stream);
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

/// The gradient that the caller gives for a parameter of an adjoint launch; undefined for None.
rt::Array given_gradient(py::handle g, const autograd::Call& call, size_t param) {
  const ParamInfo& p = call.kernel->info().params[param];
  const std::string what =
      cat("adjoint launch of ", call.kernel->info().name, ", gradient of '", p.name, "'");
  if (g.is_none()) return {};
  if (!py::isinstance<rt::Array>(g) || p.type->kind == ir::Kind::kStruct) {
    if (!ir::is_differentiable(p.type)) return {};  // what Warp's callers write for an int
    throw ArgumentTypeError(
        cat(what, ": wanted an array, or None where no gradient is wanted",
            p.type->kind == ir::Kind::kStruct ? "; gradients of structs need Tape" : ""));
  }
  const auto& a = g.cast<const rt::Array&>();
  const ir::Type type = p.type->kind == ir::Kind::kArray ? p.type : ir::array_type(p.type, 1);
  rt::Array checked = array_argument(g, type, what);
  for (const auto& b : call.arrays)
    if (b.param == int(param) && !std::equal(a.shape, a.shape + rt::kMaxDims, b.array.shape))
      throw ArgumentValueError(cat(what, ": got ", a.describe(), " for ", b.array.describe()));
  return checked;
}

/// Adjoint launch by hand: gradients given by the caller, None where there is none.
void launch_adjoint(KernelPtr kernel, py::handle dim, py::sequence args, py::sequence adjoints,
                    py::handle device, const std::string& default_device, py::handle stream) {
  autograd::Call call =
      prepare(std::move(kernel), dim, std::move(args), device, default_device, stream);
  const size_t n = call.kernel->info().params.size();
  if (adjoints.size() > n)
    throw ArgumentValueError(cat("adjoint launch of ", call.kernel->info().name, ": got ",
                                 adjoints.size(), " gradients for ", n, " parameters"));
  ad::Mask mask(n, false);
  std::vector<rt::Array> held;
  std::vector<std::vector<WtArray>> grads(n);
  bool overlap = false;
  for (size_t i = 0; i < adjoints.size(); ++i) {
    const rt::Array a = given_gradient(adjoints[i], call, i);
    if (!a.defined()) continue;
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
      throw GradientError(cat("adjoint launch of ", p.call.kernel->info().name, ": '",
                              p.call.kernel->info().params[i].name,
                              "' shares its array with another argument; give its gradient"));
  if (p.form->augmented)
    throw GradientError(cat("adjoint launch of ", p.call.kernel->info().name,
                            ": its gradient needs values that only a recorded forward launch "
                            "saves; use Tape or kernel_op"));
  const autograd::RowLayout history = autograd::history_layout(p.call, *p.form);
  rt::Array scratch;
  if (history.bytes) scratch = autograd::byte_array(p.call, history.bytes);
  autograd::run_adjoint({p.call, *p.form, p.mask, grads, {}, {}, history.at(scratch.data)});
  for (const rt::Array& a : held) rt::mark_written(a, p.call.stream);
}

const Form& form_named(Program& p, const std::string& form, const ad::Mask& mask) {
  if (form == "forward") return p.forward();
  if (form == "adjoint") return p.adjoint(mask).adjoint;
  if (form == "adjoint_atomic") return p.adjoint(mask, AdjointMode::kAtomic).adjoint;
  if (form == "adjoint_fresh") return p.adjoint(mask, AdjointMode::kFresh).adjoint;
  if (form == "tangent") return p.tangent(mask);
  if (form == "augmented") {
    const AdjointForm& a = p.adjoint(mask);
    return a.augmented ? *a.augmented : p.forward();
  }
  throw ArgumentValueError(
      cat("form '", form,
          "': wanted forward, adjoint, adjoint_atomic, adjoint_fresh, augmented or "
          "tangent"));
}

/// CUDA code of a form: a cubin for "sm_90", PTX for "compute_90". Needs no device.
std::string compiled(const Form& f, const std::string& arch) {
  py::gil_scoped_release release;
  const auto target = rt::make_target("cuda", arch);
  return target->compile(target->emit(*f.module), f.entry).data;
}

std::string source(rt::Kernel& k, const std::string& kind, const std::string& form,
                   const ad::Mask& mask, const std::string& arch) {
  const Form& f = form_named(k.program(), form, mask);
  if (kind == "ir") return ir::print(*f.module);
  if (kind == "cpp") return emit_cxx(*f.module, "cpu").text;
  if (kind == "cuda") return emit_cxx(*f.module, "cuda").text;
  if (kind == "ptx") return compiled(f, "compute_" + arch.substr(arch.find('_') + 1));
  throw ArgumentValueError(cat("source('", kind, "'): wanted ir, cpp, cuda or ptx"));
}

py::list params(const rt::Kernel& k) {
  py::list out;
  for (const ParamInfo& p : k.info().params) {
    py::dict d;
    d["name"] = p.name;
    d["type"] = ir::to_string(p.type);
    d["loads"] = p.loads;
    d["stores"] = p.stores;
    d["adds"] = p.adds;
    d["atomics"] = p.atomics;
    d["tid_dims"] = p.tid_dims;
    d["covered"] = p.covered;
    out.append(d);
  }
  return out;
}

}  // namespace

void bind_kernel(py::module_& m) {
  py::class_<rt::Kernel, KernelPtr>(m, "Kernel")
      .def(py::init(&make_kernel), py::arg("ast"), py::arg("entry"),
           py::arg("generics") = std::vector<std::string>{})
      .def_property_readonly("name", [](const rt::Kernel& k) { return k.info().name; })
      .def_property_readonly("hash", [](const rt::Kernel& k) { return k.program().hash().hex(); })
      .def_property_readonly("launch_dims",
                             [](const rt::Kernel& k) { return k.info().launch_dims; })
      .def("params", &params)
      .def("source", &source, py::arg("kind"), py::arg("form") = "forward",
           py::arg("mask") = ad::Mask{}, py::arg("arch") = "sm_90")
      .def("adjoint_info",
           [](rt::Kernel& k, const ad::Mask& mask) {
             const AdjointForm& a = k.program().adjoint(mask);
             py::dict d;
             d["tape_slots"] = a.tape.size();
             d["history_slots"] = a.history.size();
             d["reads_primal"] = a.reads_primal;
             d["augmented"] = a.augmented != nullptr;
             return d;
           })
      .def("cubin",
           [](rt::Kernel& k, const std::string& form, const ad::Mask& mask, const std::string& arch)
               -> py::bytes { return compiled(form_named(k.program(), form, mask), arch); })
      .def("load", [](rt::Kernel& k, const std::string& device) {
        py::gil_scoped_release release;
        k.load(k.program().forward(), device_named(device));
      });
  m.def("kernel_from_ir", &kernel_from_ir);
  m.def("launch", &launch, py::arg("kernel"), py::arg("dim"), py::arg("args"),
        py::arg("device") = py::none(), py::arg("default_device") = "cpu",
        py::arg("stream") = py::none(), py::arg("record") = true);
  m.def("launch_adjoint", &launch_adjoint, py::arg("kernel"), py::arg("dim"), py::arg("args"),
        py::arg("adjoints"), py::arg("device") = py::none(), py::arg("default_device") = "cpu",
        py::arg("stream") = py::none());
  m.def("set_history_budget", &autograd::set_history_budget);
  m.def("history_budget", &autograd::history_budget);
}

}  // namespace wt::bind
