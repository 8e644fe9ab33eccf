// SPDX-License-Identifier: Apache-2.0
// nonnegative.cpp: an index counts from the end if it is negative, which lowering writes as
// select(i < 0, i + n, i). Here the question is answered wherever the index cannot be negative:
// thread coordinates, counters of loops, lengths, and sums and products of these.
#include <algorithm>
#include <unordered_set>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/edit.h"
#include "csrc/codegen/passes/passes.h"

namespace wt::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

class Signs {
 public:
  /// True if `v`, an integer, cannot be negative; sums and products count as if they never wrapped.
  bool nonnegative(const Value* v) {
    if (!ir::is_scalar(v->type) || !ir::is_int(v->type->scalar)) return false;
    if (ir::is_unsigned_int(v->type->scalar)) return true;
    constexpr int kMaxDepth = 24;
    if (assumed_.count(v)) return true;
    if (depth_ >= kMaxDepth) return false;
    ++depth_;
    const bool out = v->def ? result(*v->def, static_cast<size_t>(v->index)) : argument(v);
    --depth_;
    return out;
  }

 private:
  bool result(const Op& op, size_t k) {
    int64_t c = 0;
    switch (op.code) {
      case OpCode::kConst:
        return edit::const_int(op.result(), &c) && c >= 0;
      case OpCode::kZero:
      case OpCode::kTid:
      case OpCode::kLane:
      case OpCode::kThread:
      case OpCode::kBlockDim:
      case OpCode::kShape:
        return true;
      case OpCode::kCast:
        return ir::bits(op.operand(0)->type->scalar) <= ir::bits(op.result()->type->scalar) &&
               nonnegative(op.operand(0));
      case OpCode::kSelect:
        return nonnegative(op.operand(1)) && nonnegative(op.operand(2));
      case OpCode::kIf:
        return nonnegative(op.regions[0]->terminator()->operand(k)) &&
               nonnegative(op.regions[1]->terminator()->operand(k));
      case OpCode::kFor:
        return carried(op, k, 1);
      case OpCode::kWhile:
        return carried(op, k, 0);
      case OpCode::kBuiltin:
        return builtin(op);
      default:
        return false;
    }
  }

  bool argument(const Value* v) {
    const Op* loop = v->owner ? v->owner->parent : nullptr;
    if (!loop) return false;
    if (loop->code == OpCode::kWhile) return carried(*loop, static_cast<size_t>(v->index), 0);
    if (loop->code != OpCode::kFor) return false;
    return v->index == 0 || carried(*loop, static_cast<size_t>(v->index) - 1, 1);
  }

  /// What a loop carries: it starts that way, and stays so if it was so before an iteration.
  bool carried(const Op& loop, size_t k, size_t shift) {
    const Value* arg = loop.regions[0]->args[k + shift].get();
    if (assumed_.count(arg)) return true;
    if (!nonnegative(loop.operand(k + shift))) return false;
    assumed_.insert(arg);
    const bool stays = nonnegative(loop.regions[0]->terminator()->operand(k));
    assumed_.erase(arg);
    return stays;
  }

  bool builtin(const Op& op) {
    static constexpr std::string_view kAll[] = {"add", "mul", "div", "floordiv",
                                                "mod", "min", "pow"};
    static constexpr std::string_view kFirst[] = {"rshift", "pos"};
    static constexpr std::string_view kAny[] = {"max", "bit_and"};
    static constexpr std::string_view kAlways[] = {"abs", "lower_bound", "bit_count", "nonzero"};
    const std::string_view name = op.name();
    const auto is_in = [&](const auto& names) {
      return std::find(std::begin(names), std::end(names), name) != std::end(names);
    };
    if (is_in(kAlways)) return true;
    if (is_in(kFirst)) return nonnegative(op.operand(0));
    if (is_in(kAll)) return nonnegative(op.operand(0)) && nonnegative(op.operand(1));
    if (is_in(kAny)) return nonnegative(op.operand(0)) || nonnegative(op.operand(1));
    if (name == "clamp") return nonnegative(op.operand(1)) && nonnegative(op.operand(2));
    if (name == "where") return nonnegative(op.operand(1)) && nonnegative(op.operand(2));
    return false;
  }

  std::unordered_set<const Value*> assumed_;
  int depth_ = 0;
};

/// lt(x, 0) of an x that cannot be negative.
bool asks_in_vain(const Op& op) {
  int64_t c = -1;
  return op.code == OpCode::kBuiltin && op.name() == "lt" && edit::const_int(op.operand(1), &c) &&
         c == 0 && Signs().nonnegative(op.operand(0));
}

}  // namespace

bool nonnegative(ir::Module& m) {
  bool changed = false;
  for (auto& f : m.funcs) {
    ir::walk(f->body, [&](Op& op) {
      if (!asks_in_vain(op)) return;
      op.code = OpCode::kConst;
      op.builtin = nullptr;
      op.operands.clear();
      op.attrs = {{"v", int64_t{0}}};
      changed = true;
    });
  }
  return changed;
}

}  // namespace wt::passes
