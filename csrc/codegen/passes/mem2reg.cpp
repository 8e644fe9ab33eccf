// SPDX-License-Identifier: Apache-2.0
// mem2reg.cpp: turns var, get and set into SSA values. Structured control makes this one recursion:
// a variable set inside `if` becomes a further result, one set inside a loop a carried value.
#include <algorithm>
#include <unordered_set>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/passes/split_structs.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

class Promoter {
 public:
  bool run(Region& body) {
    region(body);
    return changed_;
  }

 private:
  using Vars = std::vector<Value*>;

  /// Variables of enclosing regions that ops below set, in order of their declaration.
  Vars assigned_below(const Op& op) const {
    std::unordered_set<Value*> set;
    for (const auto& r : op.regions) {
      ir::walk(static_cast<const Region&>(*r), [&](const Op& o) {
        if (o.code == OpCode::kSet && order_.count(o.operand(0))) set.insert(o.operand(0));
      });
    }
    Vars vars(set.begin(), set.end());
    std::sort(vars.begin(), vars.end(),
              [&](Value* a, Value* b) { return order_.at(a) < order_.at(b); });
    return vars;
  }

  Value* value_of(Value* v) const {
    const auto it = replaced_.find(v);
    return it == replaced_.end() ? v : it->second;
  }

  void region(Region& r) {
    std::vector<std::unique_ptr<Op>> kept;
    kept.reserve(r.ops.size());
    for (auto& slot : r.ops) {
      Op& op = *slot;
      if (op.code == OpCode::kVar) {
        // The zero that a get before any set reads; in a loop body it is new in each iteration.
        order_.emplace(op.result(), static_cast<int>(order_.size()));
        kept.push_back(edit::detached(r, [&](ir::Builder& b) { b.zero(op.result()->type); }));
        current_[op.result()] = kept.back()->result();
        drop(slot);
      } else if (op.code == OpCode::kGet) {
        replaced_[op.result()] = current_.at(op.operand(0));
        drop(slot);
      } else if (op.code == OpCode::kSet) {
        Value* x = value_of(op.operand(1));
        if (x->hint.empty() && x->def) x->hint = op.operand(0)->hint;
        current_[op.operand(0)] = x;
        drop(slot);
      } else {
        for (Value*& v : op.operands) v = value_of(v);
        if (op.code == OpCode::kIf) branch(op);
        if (op.code == OpCode::kFor || op.code == OpCode::kWhile) loop(op);
        kept.push_back(std::move(slot));
      }
    }
    r.ops = std::move(kept);
  }

  void branch(Op& op) {
    const Vars vars = assigned_below(op);
    const std::unordered_map<Value*, Value*> before = current_;
    region(*op.regions[0]);
    std::vector<Value*> then_values;
    for (Value* v : vars) then_values.push_back(current_.at(v));
    current_ = before;
    region(*op.regions[1]);
    for (size_t i = 0; i < vars.size(); ++i) {
      Value* other = current_.at(vars[i]);
      if (then_values[i] == other) continue;
      op.regions[0]->terminator()->operands.push_back(then_values[i]);
      op.regions[1]->terminator()->operands.push_back(other);
      current_[vars[i]] = edit::add_result(op, vars[i]->type, vars[i]->hint);
    }
  }

  void loop(Op& op) {
    const Vars vars = assigned_below(op);
    Region& body = *op.regions[0];
    for (Value* v : vars) {
      op.operands.push_back(current_.at(v));
      current_[v] = body.add_arg(v->type, v->hint);
    }
    region(body);
    for (Value* v : vars) {
      body.terminator()->operands.push_back(current_.at(v));
      current_[v] = edit::add_result(op, v->type, v->hint);
    }
  }

  /// Keeps the op alive until the end: values of freed ops must not alias new ones in the maps.
  void drop(std::unique_ptr<Op>& op) {
    dropped_.push_back(std::move(op));
    changed_ = true;
  }

  std::unordered_map<Value*, int> order_;        // declaration order of variables seen so far
  std::unordered_map<Value*, Value*> current_;   // variable -> its value here
  std::unordered_map<Value*, Value*> replaced_;  // get -> value
  std::vector<std::unique_ptr<Op>> dropped_;
  bool changed_ = false;
};

}  // namespace

bool mem2reg(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) {
    changed |= split_structs(*f);
    changed |= Promoter().run(f->body);
  }
  return changed;
}

}  // namespace wt::passes
