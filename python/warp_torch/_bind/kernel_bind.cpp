// SPDX-License-Identifier: Apache-2.0
// kernel_bind.cpp: kernels and their texts.
#include <pybind11/stl.h>

#include "csrc/autograd/gradient_check.h"
#include "csrc/autograd/op_bundle.h"
#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/bundle_file.h"
#include "csrc/runtime/host_compiler.h"
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

KernelPtr like(const rt::Kernel& k, std::shared_ptr<Program> program) {
  auto made = std::make_shared<rt::Kernel>(std::move(program));
  made->set_deterministic(k.deterministic());
  return made;
}

/// A kernel from the text of its IR, as source("ir") prints it.
KernelPtr kernel_from_ir(const std::string& text) {
  py::gil_scoped_release release;
  auto module = ir::parse(text);
  if (module->funcs.size() != 1)
    throw ArgumentValueError(coded("WT602"), cat("kernel_from_ir(): got ", module->funcs.size(),
                                                 " functions, wanted one kernel"));
  const std::string entry = module->funcs.front()->name;
  return std::make_shared<rt::Kernel>(Program::from_ir(std::move(module), entry));
}

std::string source(rt::Kernel& k, const std::string& kind, const std::string& form,
                   const ad::Mask& mask, const std::string& arch) {
  const Form& f = form_named(k.program(), form, mask);
  if (kind == "ir") return ir::print(*f.module);
  if (kind == "cpp") return emit_cxx(*f.module, "cpu").text;
  if (kind == "cuda") return emit_cxx(*f.module, "cuda").text;
  if (kind == "ptx")
    return device_code(*f.module, f.entry, "compute_" + arch.substr(arch.find('_') + 1));
  throw ArgumentValueError(coded("WT602"),
                           cat("source('", kind, "'): wanted ir, cpp, cuda or ptx"));
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

/// A bundle of the kernels' forms for one target; `masks` says which parameters of each carry
/// gradients.
void save_kernels(const std::string& path, const std::vector<KernelPtr>& kernels,
                  const std::vector<ad::Mask>& masks, const autograd::AheadTarget& target) {
  py::gil_scoped_release release;
  std::vector<const Form*> forms;
  for (size_t i = 0; i < kernels.size(); ++i) {
    Program& program = kernels[i]->program();
    forms.push_back(&program.forward());
    for (const ad::Mask& mask : autograd::ahead_masks(masks[i]))
      for (const AdjointMode mode : {AdjointMode::kAccumulate, AdjointMode::kAtomic})
        autograd::add_adjoint(forms, program, mask, mode);
  }
  rt::write_bundle_file(path, autograd::compile_ahead(forms, {target}));
}

void load_kernels(const std::string& path) {
  py::gil_scoped_release release;
  rt::load_bundle_file(path);
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
      .def_property("deterministic", &rt::Kernel::deterministic, &rt::Kernel::set_deterministic)
      .def("params", &params)
      .def("tangent",
           [](rt::Kernel& k, const ad::Mask& mask) {
             return like(k, k.program().tangent_program(mask));
           })
      .def("with_array_values",
           [](rt::Kernel& k, const std::vector<bool>& marked) {
             return like(k, k.program().with_array_values(marked));
           })
      .def("with_struct_fields",
           [](rt::Kernel& k) {
             std::vector<std::vector<std::string>> paths;
             auto program = k.program().with_struct_fields(&paths);
             return py::make_tuple(like(k, std::move(program)), paths);
           })
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
      .def("line_of",
           [](rt::Kernel& k, int param) {
             const Loc at = autograd::line_of(k.program().forward().kernel(), param);
             return py::make_tuple(at.file ? *at.file : std::string(), at.line, at.col);
           })
      .def("load", [](rt::Kernel& k, const std::string& device) {
        py::gil_scoped_release release;
        k.load(k.program().forward(), device_named(device));
      });
  m.def("kernel_from_ir", &kernel_from_ir);
  m.def("save_kernels", &save_kernels);
  m.def("load_kernels", &load_kernels);
  m.def("bundle_records", [](const std::string& path) {
    py::list out;
    for (const rt::BundleRecord& r : rt::read_bundle_file(path))
      out.append(py::make_tuple(r.fields, py::bytes(r.data)));
    return out;
  });
  m.def("host_runs", &rt::host_runs);
  m.def("host_arch", [] { return std::string(rt::host_arch()); });
  m.def("set_history_budget", &autograd::set_history_budget);
  m.def("set_gradient_checks", &autograd::set_gradient_checks);
  m.def("history_budget", &autograd::history_budget);
}

}  // namespace wt::bind
