// SPDX-License-Identifier: Apache-2.0
// whole_elements.cpp: writes the accesses of parts anew.
#include "csrc/codegen/passes/whole_elements.h"

#include <vector>

#include "csrc/codegen/ir/builder.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

/// The way from an element to a part of it: ops `part`, outermost first.
using Way = std::vector<const Op*>;

Value* inner(ir::Builder& b, Value* x, const Op& step) {
  if (step.operands.size() == 1) return b.field(x, step.str_attr("name"));
  return b.extract(x, std::span(step.operands).subspan(1));
}

Value* rebuilt(ir::Builder& b, Value* whole, std::span<const Op* const> way, Value* x) {
  if (way.empty()) return x;
  const Op& step = *way.front();
  Value* part = way.size() == 1 ? x : rebuilt(b, inner(b, whole, step), way.subspan(1), x);
  if (step.operands.size() == 1) return b.set_field(whole, step.str_attr("name"), part);
  return b.insert(whole, part, std::span(step.operands).subspan(1));
}

class Widener {
 public:
  explicit Widener(const std::unordered_set<const Value*>& arrays) : arrays_(arrays) {}

  void run(ir::Func& f) {
    region(f.body);
    ir::replace_uses(f.body, replaced_);
  }

 private:
  void region(Region& r) {
    auto ops = std::move(r.ops);
    r.ops.clear();
    ir::Builder b(&r);
    for (auto& op : ops) {
      for (auto& nested : op->regions) region(*nested);
      b.set_loc(op->loc);
      auto& to = access(*op, b) ? dropped_ : r.ops;
      to.push_back(std::move(op));
    }
  }

  bool access(const Op& op, ir::Builder& b) {
    const std::string kind = op.code == OpCode::kAtomic ? op.str_attr("kind") : "";
    const bool sum = kind == "add" || kind == "sub";
    if (op.code != OpCode::kLoad && op.code != OpCode::kStore && !sum) return false;
    Way way;
    Value* array = op.operand(0);
    for (; array->def && array->def->code == OpCode::kPart; array = array->def->operand(0)) {
      way.insert(way.begin(), array->def);
    }
    if (way.empty() || !arrays_.contains(array)) return false;
    const auto idx = std::span(op.operands).subspan(ir::first_index(op.code));
    Value* whole = nullptr;
    if (sum) {
      Value* zero = b.zero(array->type->elem);
      whole = b.atomic(kind, array, rebuilt(b, zero, way, op.operand(1)), idx);
    } else {
      whole = b.load(array, idx);
    }
    if (op.code == OpCode::kStore) {
      b.store(array, rebuilt(b, whole, way, op.operand(1)), idx);
      return true;
    }
    for (const Op* step : way) whole = inner(b, whole, *step);
    replaced_[op.result()] = whole;
    return true;
  }

  const std::unordered_set<const Value*>& arrays_;
  ir::ValueMap replaced_;
  std::vector<std::unique_ptr<Op>> dropped_;  // alive until uses are replaced
};

}  // namespace

void whole_elements(ir::Func& f, const std::unordered_set<const Value*>& arrays) {
  Widener(arrays).run(f);
}

}  // namespace wt::passes
