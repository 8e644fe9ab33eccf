// SPDX-License-Identifier: Apache-2.0
// simplify_if.cpp: what an `if` knows of its condition, results that do not depend on it, and small
// branches that become select. Products and quotients are not moved out of branches: the derivative
// of a select sends a zero into both sides, and zero times infinity is not zero.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/passes.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

constexpr size_t kMaxSelectOps = 4;     // Ops of both branches together.
constexpr size_t kMaxSelectBytes = 64;  // Of one result; copies of large locals are not cheap.

/// May run although its branch is not taken: cheap, and linear with known coefficients.
bool speculable(const Op& op) {
  switch (op.code) {
    case OpCode::kConst:
    case OpCode::kZero:
    case OpCode::kMake:
    case OpCode::kField:
    case OpCode::kSetField:
    case OpCode::kCast:
    case OpCode::kSelect:
    case OpCode::kTid:
      return true;
    case OpCode::kExtract:
    case OpCode::kInsert:
      return !edit::picks_at_run_time(op);
    case OpCode::kBuiltin:
      break;
    default:
      return false;
  }
  static constexpr std::array<std::string_view, 19> kCheap = {
      "add",    "sub",     "neg", "pos",         "lt",         "le",          "gt",
      "ge",     "eq",      "ne",  "logical_and", "logical_or", "logical_not", "bit_and",
      "bit_or", "bit_xor", "min", "max",         "abs"};
  return op.pure() && std::find(kCheap.begin(), kCheap.end(), op.name()) != kCheap.end();
}

bool selectable(const Value& v) {
  if (v.type->kind == ir::Kind::kHist || v.type->kind == ir::Kind::kStr) return false;
  return v.type->kind == ir::Kind::kArray || ir::size_of(v.type) <= kMaxSelectBytes;
}

class Simplifier {
 public:
  bool run(Region& body) {
    region(body);
    return changed_;
  }

 private:
  void region(Region& r) {
    std::vector<std::unique_ptr<Op>> old = std::move(r.ops);
    r.ops.clear();
    for (auto& op : old) {
      resolve(*op);
      if (op->code == OpCode::kIf) {
        branch(std::move(op), r);
        continue;
      }
      for (auto& nested : op->regions) region(*nested);
      r.ops.push_back(std::move(op));
    }
  }

  void resolve(Op& op) {
    for (Value*& v : op.operands) {
      for (auto it = replaced_.find(v); it != replaced_.end(); it = replaced_.find(v)) {
        v = it->second;
      }
    }
  }

  void branch(std::unique_ptr<Op> op, Region& r) {
    unnegate(*op);
    assume(*op, 0);
    assume(*op, 1);
    for (auto& nested : op->regions) region(*nested);
    common_results(*op, r);
    const bool empty =
        op->results.empty() && op->regions[0]->ops.size() == 1 && op->regions[1]->ops.size() == 1;
    if (empty || flat(*op)) {
      flatten(*op, r);
      dropped_.push_back(std::move(op));
      changed_ = true;
    } else {
      r.ops.push_back(std::move(op));
    }
  }

  /// if(not c) A else B is if(c) B else A.
  void unnegate(Op& op) {
    const Op* d = op.operand(0)->def;
    if (!d || d->code != OpCode::kBuiltin || d->name() != "logical_not") return;
    op.operands[0] = d->operand(0);
    std::swap(op.regions[0], op.regions[1]);
    changed_ = true;
  }

  /// In its branches the condition is known.
  void assume(Op& op, size_t side) {
    Value* c = op.operand(0);
    Region& r = *op.regions[side];
    bool used = false;
    ir::walk(static_cast<const Region&>(r), [&](const Op& o) {
      used = used || std::find(o.operands.begin(), o.operands.end(), c) != o.operands.end();
    });
    int64_t known = 0;
    if (!used || edit::const_int(c, &known)) return;
    auto value = edit::detached(r, [&](ir::Builder& b) { b.const_bool(side == 0); });
    ir::replace_uses(r, {{c, value->result()}});
    r.ops.insert(r.ops.begin(), std::move(value));
    changed_ = true;
  }

  /// Results that both branches give alike, and results that are the condition itself.
  void common_results(Op& op, Region& r) {
    Op& yes = *op.regions[0]->terminator();
    Op& no = *op.regions[1]->terminator();
    std::vector<bool> keep(op.results.size(), true);
    for (size_t i = 0; i < op.results.size(); ++i) {
      Value* to = nullptr;
      int64_t a = 0;
      int64_t b = 0;
      if (yes.operand(i) == no.operand(i)) {
        to = yes.operand(i);
      } else if (op.result(i)->type == ir::bool_type() && edit::const_int(yes.operand(i), &a) &&
                 edit::const_int(no.operand(i), &b)) {
        ir::Builder builder(&r);
        if (a != 0 && b == 0) to = op.operand(0);
        if (a == 0 && b != 0) to = builder.builtin("logical_not", {op.operand(0)});
      }
      for (size_t j = 0; j < i && !to; ++j) {
        const bool twin =
            keep[j] && yes.operand(j) == yes.operand(i) && no.operand(j) == no.operand(i);
        if (twin) to = op.result(j);
      }
      if (!to) continue;
      replaced_[op.result(i)] = to;
      keep[i] = false;
    }
    if (std::find(keep.begin(), keep.end(), false) == keep.end()) return;
    edit::keep_operands(yes, keep);
    edit::keep_operands(no, keep);
    for (size_t i = 0; i < keep.size(); ++i) {
      if (!keep[i]) gone_.push_back(std::move(op.results[i]));
    }
    edit::keep_results(op, keep);
    changed_ = true;
  }

  static bool flat(const Op& op) {
    size_t ops = 0;
    for (const auto& r : op.regions) {
      for (const auto& o : r->ops) {
        if (o->code == OpCode::kYield) continue;
        if (!o->regions.empty() || !speculable(*o)) return false;
        if (o->code != OpCode::kConst && o->code != OpCode::kZero) ++ops;
      }
    }
    return ops <= kMaxSelectOps && std::all_of(op.results.begin(), op.results.end(),
                                               [](const auto& v) { return selectable(*v); });
  }

  void flatten(Op& op, Region& r) {
    std::vector<Value*> yielded[2];
    for (size_t side = 0; side < 2; ++side) {
      yielded[side] = op.regions[side]->terminator()->operands;
      for (auto& o : op.regions[side]->ops) {
        if (o->code == OpCode::kYield) continue;
        o->parent = &r;
        r.ops.push_back(std::move(o));
      }
    }
    ir::Builder b(&r);
    b.set_loc(op.loc);
    for (size_t i = 0; i < op.results.size(); ++i) {
      Value* v = b.select(op.operand(0), yielded[0][i], yielded[1][i]);
      v->hint = op.result(i)->hint;
      replaced_[op.result(i)] = v;
    }
  }

  std::unordered_map<const Value*, Value*> replaced_;
  std::vector<std::unique_ptr<Op>>
      dropped_;  // Alive, so that no new value has an old one's address.
  std::vector<std::unique_ptr<Value>> gone_;
  bool changed_ = false;
};

}  // namespace

bool simplify_if(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) changed |= Simplifier().run(f->body);
  return changed;
}

}  // namespace wt::passes
