// SPDX-License-Identifier: Apache-2.0
// row_functions.cpp: writes host code of every builtin row that the interpreter has no row for, so
// that it runs these compiled (compiled_rows.h): wt_row_functions FILE
#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "csrc/codegen/emit/target.h"
#include "csrc/codegen/interp/eval_builtin.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/text.h"
#include "tests/random/bound_rows.h"

namespace wt::test {
namespace {

bool interpreted(const BoundRow& row) {
  std::vector<std::vector<interp::Cell>> cells, made;
  std::vector<interp::Operand> in;
  std::vector<interp::Cell*> out;
  const auto zeros = [](ir::Type t) {
    return std::vector<interp::Cell>(static_cast<size_t>(interp::cell_count(t)));
  };
  for (ir::Type t : row.operands) cells.push_back(zeros(t));
  for (ir::Type t : row.results) made.push_back(zeros(t));
  for (size_t i = 0; i < cells.size(); ++i) in.push_back({row.operands[i], cells[i].data()});
  for (auto& m : made) out.push_back(m.data());
  return interp::eval_builtin(row.def->name, in, row.results, out.data());
}

/// A kernel that reads each operand from its own array and writes each result to one.
void add_kernel(ir::Module& m, const BoundRow& row, const std::string& name) {
  m.funcs.push_back(std::make_unique<ir::Func>());
  ir::Func& f = *m.funcs.back();
  f.kernel = true;
  f.name = name;
  std::vector<ir::Value*> in, out, operands;
  const auto is_array = [](ir::Type t) { return t->kind == ir::Kind::kArray; };
  for (ir::Type t : row.operands) {
    in.push_back(f.body.add_arg(is_array(t) ? t : ir::array_type(t, 1), "x"));
  }
  for (ir::Type t : row.results) out.push_back(f.body.add_arg(ir::array_type(t, 1), "y"));
  ir::Builder b(&f.body);
  ir::Value* const first[] = {b.const_int(0, ir::i32_type())};
  for (size_t i = 0; i < in.size(); ++i) {
    operands.push_back(is_array(row.operands[i]) ? in[i] : b.load(in[i], first));
  }
  const ir::Op* op = b.builtin_op(row.def->name, operands);
  for (size_t i = 0; i < out.size(); ++i) b.store(out[i], op->result(i), first);
  b.ret();
}

void write(std::ostream& out) {
  ir::Module m;
  std::set<std::string> keys;
  std::string table;
  const auto add = [&](const BoundRow& row) {
    const std::string key = row_key(row.def->name, row.operands);
    if (!row.def->expand.empty()) return;  // It is no op.
    if (interpreted(row) || !keys.insert(key).second) return;
    const std::string name = cat("row", keys.size());
    add_kernel(m, row, name);
    append(table, "  {\"", key, "\", ", name, "},\n");
  };
  for (const char* floats : {"f64", "f32", "f16", "bf16"}) {
    for_each_bound_row(floats, {2, 3, 4}, add);
    for_each_bound_row(floats, {1}, [&](const BoundRow& row) {
      if (row.def->name.starts_with("_")) add(row);  // Rules use these on numbers, too.
    });
  }
  for_each_array_row(add);
  ir::verify(m, "row_functions");
  out << emit_cxx(m, "cpu").text
      << "struct WtRow { const char* key; void (*run)(const void*, i64, i64, i64); };\n"
      << "extern const WtRow wt_rows[] = {\n"
      << table << "};\nextern const int wt_row_count = " << keys.size() << ";\n";
}

}  // namespace
}  // namespace wt::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "wt_row_functions FILE\n";
    return 2;
  }
  try {
    std::ofstream out(argv[1]);
    wt::test::write(out);
    return out.good() ? 0 : 1;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
