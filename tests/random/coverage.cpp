// SPDX-License-Identifier: Apache-2.0
// coverage.cpp: looks through programs for ops, rows and control flow.
#include "tests/random/coverage.h"

#include <unordered_map>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/text.h"
#include "tests/random/bound_rows.h"

namespace wt::test {
namespace {

bool on_floats(const ir::Op& op) {
  if (op.code != ir::OpCode::kIf) return false;
  const ir::Op* c = op.operand(0)->def;
  return c && c->code == ir::OpCode::kBuiltin && c->operands.size() == 2 &&
         ir::is_float(c->operand(0)->type->scalar);
}

/// The array that a view, or the array of a part, is of.
const ir::Value* base_of(const ir::Value* array) {
  while (array->def &&
         (array->def->code == ir::OpCode::kView || array->def->code == ir::OpCode::kPart)) {
    array = array->def->operand(0);
  }
  return array;
}

struct Look {
  Features out;
  std::set<const ir::Value*> stored, loaded;
  std::unordered_map<const ir::Value*, int> uses;

  void region(const ir::Region& r, int loops) {
    for (const auto& op : r.ops) {
      const bool loop = op->code == ir::OpCode::kFor || op->code == ir::OpCode::kWhile;
      if (loops > 0 && (op->code == ir::OpCode::kWhile || on_floats(*op))) {
        out.nested_data_dependent = true;
      }
      if (op->code == ir::OpCode::kStore) stored.insert(base_of(op->operand(0)));
      if (op->code == ir::OpCode::kLoad) loaded.insert(base_of(op->operand(0)));
      if (op->code == ir::OpCode::kAtomic && uses.count(op->result())) out.uses_old_values = true;
      for (const auto& inner : op->regions) region(*inner, loops + (loop ? 1 : 0));
    }
  }
};

}  // namespace

Features features_of(const ir::Module& m) {
  const ir::Region& body = m.funcs.front()->body;
  Look look{.out = {}, .stored = {}, .loaded = {}, .uses = ir::count_uses(body)};
  look.region(body, 0);
  for (const ir::Value* a : look.stored) look.out.changes_in_place |= look.loaded.count(a) != 0;
  return look.out;
}

void Coverage::add(const ir::Module& m) {
  for (const auto& f : m.funcs) {
    ir::walk(static_cast<const ir::Region&>(f->body), [&](const ir::Op& op) {
      if (!op.builtin) ops_.insert(op.code);
      if (op.builtin) rows_.insert(op.builtin);
    });
  }
}

std::set<std::string_view> Coverage::missing_ops() const {
  // What programs of the interpreter cannot have: the user's own text, addresses and what they are
  // run with; tests/lower/test_native.py and test_references.py have these.
  const std::set<ir::OpCode> outside = {ir::OpCode::kNative, ir::OpCode::kPointer,
                                        ir::OpCode::kFromPointer, ir::OpCode::kBlockDim,
                                        ir::OpCode::kBreakpoint};
  std::set<std::string_view> out;
  for (int code = 0; code < static_cast<int>(ir::OpCode::kBuiltin); ++code) {
    const auto op = static_cast<ir::OpCode>(code);
    if (!ops_.count(op) && !outside.count(op)) out.insert(ir::op_info(op).name);
  }
  return out;
}

std::set<std::string> Coverage::missing_rows() const {
  std::set<std::string> out;
  const auto look = [&](const BoundRow& row) {
    if (!row.def->expand.empty()) return;  // It is no op.
    if (!rows_.count(row.def)) out.insert(cat(row.def->name, row.def->sig));
  };
  for_each_bound_row("f64", {2}, look);
  for_each_array_row(look);
  return out;
}

}  // namespace wt::test
