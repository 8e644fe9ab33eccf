// SPDX-License-Identifier: Apache-2.0
// array_choice.cpp: finds the arrays that a carried variable may be, and carries their numbers.
#include "csrc/codegen/ad/array_choice.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "csrc/codegen/ad/activity.h"
#include "csrc/codegen/passes/edit.h"

namespace wt::ad {
namespace {

namespace edit = passes::edit;

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

constexpr size_t kMostArrays = 8;

class Numberer {
 public:
  Numberer(ir::Func& f, Op& loop)
      : f_(f), loop_(loop), body_(*loop.regions[0]), skip_(loop_skip(loop)) {}

  void run() {
    for (size_t i = 0; i < loop_.results.size(); ++i) {
      const Value* arg = body_.args[i + skip_].get();
      if (!carries_arrays(arg->type) || body_.terminator()->operand(i) == arg) continue;
      if (!numbers_.contains(arg) && find(arg)) carry();
      arrays_.clear();
      args_.clear();
    }
  }

 private:
  /// Collects the arrays that `v` may be, and the carried variables on the way.
  bool find(const Value* v) {
    if (!ir::is_inside(v, loop_)) {
      if (std::find(arrays_.begin(), arrays_.end(), v) == arrays_.end()) arrays_.push_back(v);
      return arrays_.size() <= kMostArrays;
    }
    if (v->owner == &body_) {
      if (std::find(args_.begin(), args_.end(), v) != args_.end()) return true;
      args_.push_back(v);
      const size_t i = static_cast<size_t>(v->index) - skip_;
      return find(loop_.operand(i + skip_)) && find(body_.terminator()->operand(i));
    }
    if (v->def && v->def->code == OpCode::kSelect) {
      return find(v->def->operand(1)) && find(v->def->operand(2));
    }
    if (!v->def || v->def->code != OpCode::kIf) return false;
    return std::all_of(v->def->regions.begin(), v->def->regions.end(), [&](const auto& r) {
      return find(r->terminator()->operand(static_cast<size_t>(v->index)));
    });
  }

  void carry() {
    std::vector<const Value*> starts, nexts;
    for (const Value* arg : args_) {
      const size_t i = static_cast<size_t>(arg->index) - skip_;
      starts.push_back(loop_.operand(i + skip_));
      nexts.push_back(body_.terminator()->operand(i));
    }
    for (const Value* arg : args_) numbers_[arg] = body_.add_arg(ir::i32_type(), arg->hint);
    ir::ValueMap chosen;
    for (size_t k = 0; k < args_.size(); ++k) {
      loop_.operands.push_back(number(starts[k]));
      body_.terminator()->operands.push_back(number(nexts[k]));
      Value* last = edit::add_result(loop_, ir::i32_type());
      const size_t i = static_cast<size_t>(args_[k]->index) - skip_;
      chosen[args_[k]] = choose(numbers_.at(args_[k]), body_, 0);
      chosen[loop_.result(i)] = choose(last, *loop_.parent, place(loop_) + 1);
    }
    ir::replace_uses(f_.body, chosen);
    for (const Value* arg : args_) {
      const size_t i = static_cast<size_t>(arg->index) - skip_;
      body_.terminator()->operands[i] = body_.args[i + skip_].get();
    }
  }

  static size_t place(const Op& op) {
    const auto& ops = op.parent->ops;
    const auto is = [&](const auto& o) { return o.get() == &op; };
    return static_cast<size_t>(std::find_if(ops.begin(), ops.end(), is) - ops.begin());
  }

  /// The array of that number.
  Value* choose(Value* number, Region& r, size_t at) {
    Region made;
    ir::Builder b(&made);
    b.set_loc(loop_.loc);
    auto* out = const_cast<Value*>(arrays_.back());
    for (size_t i = arrays_.size() - 1; i-- > 0;) {
      Value* is = b.builtin("eq", {number, b.const_int(static_cast<int64_t>(i), ir::i32_type())});
      out = b.select(is, const_cast<Value*>(arrays_[i]), out);
    }
    ir::splice(made, r, at);
    return out;
  }

  Value* number(const Value* v) {
    if (const auto it = numbers_.find(v); it != numbers_.end()) return it->second;
    Region made;
    ir::Builder b(&made);
    b.set_loc(loop_.loc);
    const auto known = std::find(arrays_.begin(), arrays_.end(), v);
    if (known != arrays_.end()) {
      Value* n = b.const_int(known - arrays_.begin(), ir::i32_type());
      ir::splice(made, *loop_.parent, place(loop_));
      return n;
    }
    Op& def = *v->def;
    if (def.code == OpCode::kSelect) {
      Value* n = b.select(def.operand(0), number(def.operand(1)), number(def.operand(2)));
      ir::splice(made, *def.parent, place(def) + 1);
      return numbers_[v] = n;
    }
    for (auto& r : def.regions) {
      Op& end = *r->terminator();
      Value* n = number(end.operand(static_cast<size_t>(v->index)));
      end.operands.push_back(n);
    }
    return numbers_[v] = edit::add_result(def, ir::i32_type());
  }

  ir::Func& f_;
  Op& loop_;
  Region& body_;
  const size_t skip_;
  std::vector<const Value*> arrays_, args_;
  std::unordered_map<const Value*, Value*> numbers_;
};

void inner_first(Region& r, std::vector<Op*>& out) {
  for (auto& op : r.ops) {
    for (auto& inner : op->regions) inner_first(*inner, out);
    if (op->code == OpCode::kFor || op->code == OpCode::kWhile) out.push_back(op.get());
  }
}

}  // namespace

void number_arrays(ir::Func& f) {
  std::vector<Op*> loops;
  inner_first(f.body, loops);
  for (Op* loop : loops) Numberer(f, *loop).run();
}

}  // namespace wt::ad
