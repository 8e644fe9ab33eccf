// SPDX-License-Identifier: Apache-2.0
// host_bind.cpp: functions of the kernel language called from Python with single values.
#include <pybind11/stl.h>

#include "csrc/codegen/host_function.h"
#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {
namespace {

std::unique_ptr<HostFunction> make(const std::string& text, const std::string& entry) {
  return std::make_unique<HostFunction>(text, entry);
}

/// The results as bytes, or None if the function has to be compiled.
py::object interpret(const HostFunction& f, const std::vector<std::string>& args) {
  std::vector<const void*> in;
  for (const std::string& a : args) in.push_back(a.data());
  std::vector<std::string> results;
  std::vector<void*> out;
  for (const ir::Type t : f.results()) results.emplace_back(ir::size_of(t), '\0');
  for (std::string& r : results) out.push_back(r.data());
  if (!f.interpret(in, out)) return py::none();
  py::list list;
  for (const std::string& r : results) list.append(py::bytes(r));
  return list;
}

std::shared_ptr<rt::Kernel> compiled(const HostFunction& f) {
  return std::make_shared<rt::Kernel>(f.program());
}

}  // namespace

void bind_host(py::module_& m) {
  py::class_<HostFunction>(m, "HostFunction")
      .def(py::init(&make))
      .def_property_readonly("results",
                             [](const HostFunction& f) {
                               std::vector<std::string> out;
                               for (const ir::Type t : f.results()) {
                                 out.push_back(ir::to_string(t));
                               }
                               return out;
                             })
      .def("interpret", &interpret)
      .def("compiled", &compiled);
}

}  // namespace wt::bind
