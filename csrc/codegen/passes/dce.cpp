// SPDX-License-Identifier: Apache-2.0
// dce.cpp: removes what no effect depends on: ops, loop-carried values, results of `if`, var sets.
// Liveness starts at the effects and follows uses, so a carried value that only feeds itself dies.
// Reads are removable, writes never; a loop without effects ends as far as dce is concerned.
#include <unordered_map>
#include <unordered_set>

#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/passes.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool is_loop(const Op& op) { return op.code == OpCode::kFor || op.code == OpCode::kWhile; }
bool is_end(const Op& op) { return op.code == OpCode::kYield || op.code == OpCode::kReturn; }
/// An op that stays whoever uses it. Sets of variables stay only if the variable is read.
bool is_root(const Op& op) { return op.regions.empty() && op.code != OpCode::kSet && op.writes(); }

class Liveness {
 public:
  explicit Liveness(Region& body) {
    ir::walk(body, [&](Op& op) {
      if (op.code == OpCode::kSet) sets_[op.operand(0)].push_back(&op);
    });
    ir::walk(body, [&](Op& op) {
      if (is_root(op) || op.code == OpCode::kReturn) mark(&op);
    });
    while (!todo_.empty()) {
      Value* v = todo_.back();
      todo_.pop_back();
      spread(*v);
    }
  }

  bool live(const Op& op) const { return ops_.count(&op) > 0 || is_end(op); }
  bool live(const Value& v) const { return values_.count(&v) > 0; }

 private:
  void mark(Value* v) {
    if (values_.insert(v).second) todo_.push_back(v);
  }

  void mark(Op* op) {
    if (!ops_.insert(op).second) return;
    if (op->parent && op->parent->parent) mark(op->parent->parent);
    if (op->regions.empty()) {
      for (Value* v : op->operands) mark(v);
      return;
    }
    mark(op->operand(0));  // Condition, trip count or first flag.
    if (op->code == OpCode::kWhile) mark_carried(*op, 0);
  }

  /// The k-th result of a loop, its start, its region argument and its next value live together.
  void mark_carried(Op& loop, size_t k) {
    const size_t shift = loop.code == OpCode::kFor ? 1 : 0;
    mark(loop.result(k));
    mark(loop.operand(k + shift));
    mark(loop.regions[0]->args[k + shift].get());
    mark(loop.regions[0]->terminator()->operand(k));
  }

  void spread(Value& v) {
    if (v.owner) {
      Op* loop = v.owner->parent;
      if (!loop) return;
      mark(loop);
      const int shift = loop->code == OpCode::kFor ? 1 : 0;
      if (v.index >= shift) mark_carried(*loop, static_cast<size_t>(v.index - shift));
      return;
    }
    mark(v.def);
    const size_t k = static_cast<size_t>(v.index);
    if (is_loop(*v.def)) mark_carried(*v.def, k);
    if (v.def->code == OpCode::kIf) {
      for (auto& r : v.def->regions) mark(r->terminator()->operand(k));
    }
    if (v.def->code == OpCode::kVar) {
      for (Op* set : sets_[&v]) mark(set);
    }
  }

  std::unordered_map<const Value*, std::vector<Op*>> sets_;
  std::unordered_set<const Op*> ops_;
  std::unordered_set<const Value*> values_;
  std::vector<Value*> todo_;
};

/// Drops dead results of `if`, dead carried values of loops. True if there were any.
bool trim(Op& op, const Liveness& live) {
  std::vector<bool> keep;
  bool all = true;
  for (const auto& r : op.results) {
    keep.push_back(live.live(*r));
    all = all && keep.back();
  }
  if (all) return false;
  for (auto& r : op.regions) edit::keep_operands(*r->terminator(), keep);
  if (is_loop(op)) {
    const size_t shift = op.code == OpCode::kFor ? 1 : 0;
    edit::keep_operands(op, keep, shift);
    std::vector<bool> keep_args(keep);
    keep_args.insert(keep_args.begin(), shift, true);
    edit::keep_args(*op.regions[0], keep_args);
  }
  edit::keep_results(op, keep);
  return true;
}

bool sweep(Region& r, const Liveness& live) {
  const size_t before = r.ops.size();
  std::erase_if(r.ops, [&](const std::unique_ptr<Op>& op) { return !live.live(*op); });
  bool changed = r.ops.size() != before;
  for (auto& op : r.ops) {
    for (auto& nested : op->regions) changed |= sweep(*nested, live);
    if (!op->regions.empty()) changed |= trim(*op, live);
  }
  return changed;
}

}  // namespace

bool dce(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) {
    const Liveness live(f->body);
    changed |= sweep(f->body, live);
  }
  return changed;
}

}  // namespace wt::passes
