// SPDX-License-Identifier: Apache-2.0
// compiler_bind.cpp: the compiler's text forms: types, structs and the builtin table.
#include <pybind11/stl.h>

#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/ir/type_reader.h"
#include "csrc/codegen/support/error_table.h"
#include "python/warp_torch/_bind/bind.h"

namespace wt::bind {
namespace {

ir::StructTable& structs() {
  static auto& table = *new ir::StructTable;
  return table;
}

py::list builtin_rows() {
  py::list out;
  for (const BuiltinDef* row : builtins::all_rows()) {
    py::dict d;
    d["name"] = row->name;
    d["sig"] = row->sig;
    d["group"] = row->group;
    d["doc"] = row->doc;
    d["differentiable"] = row->grad == Grad::kRule;
    out.append(d);
  }
  return out;
}

}  // namespace

ir::Type type_named(const std::string& text) { return ir::parse_type(text, structs()); }

void bind_compiler(py::module_& m) {
  m.def("define_struct", [](const std::string& name,
                            const std::vector<std::pair<std::string, std::string>>& fields) {
    std::vector<ir::Field> fs;
    for (const auto& [field, type] : fields) fs.push_back({field, type_named(type)});
    structs()[name] = ir::struct_type(name, std::move(fs));
  });
  m.def("size_of", [](const std::string& type) { return ir::size_of(type_named(type)); });
  m.def("builtin_rows", &builtin_rows);
  m.def("nearest_builtin", &builtins::nearest);
  m.def("error_remedy", [](const std::string& code) { return error_row(code).remedy; });
  m.def("error_rows", [] {
    py::list out;
    for (const ErrorRow& row : error_table())
      out.append(py::make_tuple(row.code, row.text, row.remedy));
    return out;
  });
}

}  // namespace wt::bind
