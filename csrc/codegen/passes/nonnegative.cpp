// SPDX-License-Identifier: Apache-2.0
// nonnegative.cpp: an index counts from the end if it is negative, which lowering writes as
// select(i < 0, i + n, i). Here the question is answered wherever the index cannot be negative:
// thread coordinates, counters of loops, lengths, sums and products of these, and what a branch
// around it says, as in `if i > 0: ... x[i - 1]`.
#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

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
  /// For questions asked at `site`.
  explicit Signs(const Op& site) {
    for (const ir::Region* r = site.parent; r && r->parent; r = r->parent->parent) {
      const Op& around = *r->parent;
      if (around.code == OpCode::kIf) learn(around.operand(0), r == around.regions[0].get());
    }
  }

  /// True if `v`, an integer, cannot be negative; sums and products count as if they never wrapped.
  bool nonnegative(const Value* v) {
    if (!ir::is_scalar(v->type) || !ir::is_int(v->type->scalar)) return false;
    if (ir::is_unsigned_int(v->type->scalar)) return true;
    constexpr int kMaxDepth = 24;
    if (assumed_.count(v) || at_least(v, 0)) return true;
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
    auto here = std::exchange(known_, {});  // other iterations need not come to the site
    const bool stays = nonnegative(loop.regions[0]->terminator()->operand(k));
    known_ = std::move(here);
    assumed_.erase(arg);
    return stays;
  }

  /// The condition is known to be `holds`.
  void learn(const Value* condition, bool holds) {
    const Op* d = condition->def;
    if (!d) return;
    if (d->code == OpCode::kIf) {  // `a and b`, `a or b`
      const size_t rest = holds ? 0 : 1;
      const auto& regions = d->regions;
      const auto k = static_cast<size_t>(condition->index);
      int64_t other = 0;
      if (!edit::const_int(regions[1 - rest]->terminator()->operand(k), &other)) return;
      if ((other != 0) == holds) return;
      learn(d->operand(0), holds);
      return learn(regions[rest]->terminator()->operand(k), holds);
    }
    if (d->code != OpCode::kBuiltin) return;
    const std::string_view name = d->name();
    if (name == "logical_not") return learn(d->operand(0), !holds);
    if (name == (holds ? "logical_and" : "logical_or")) {
      learn(d->operand(0), holds);
      return learn(d->operand(1), holds);
    }
    if (d->operands.size() == 2) compare(name, d->operand(0), d->operand(1), holds);
  }

  /// x > c and the like, or its opposite.
  void compare(std::string_view name, const Value* x, const Value* y, bool holds) {
    int64_t c = 0;
    const bool swapped = edit::const_int(x, &c);
    if (swapped) std::swap(x, y);
    constexpr int64_t kLimit = int64_t{1} << 40;
    if (!edit::const_int(y, &c) || c > kLimit || c < -kLimit) return;
    const bool more = (name == "gt" || name == "ge") != swapped;
    const bool order = name == "gt" || name == "ge" || name == "lt" || name == "le";
    const bool or_equal = (name == "ge" || name == "le") == holds;
    if (order && more == holds) known_.emplace_back(x, or_equal ? c : c + 1);
    if (name == "eq" && holds) known_.emplace_back(x, c);
    const bool not_zero = c == 0 && ((name == "ne" && holds) || (name == "eq" && !holds));
    if (not_zero && nonnegative(x)) known_.emplace_back(x, 1);
  }

  bool at_least(const Value* v, int64_t n) const {
    return std::any_of(known_.begin(), known_.end(),
                       [&](const auto& fact) { return fact.first == v && fact.second >= n; });
  }

  bool builtin(const Op& op) {
    int64_t c = 0;
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
    if (name == "add" && edit::const_int(op.operand(1), &c) && c < 0) {
      return at_least(op.operand(0), -c);
    }
    if (is_in(kAll)) return nonnegative(op.operand(0)) && nonnegative(op.operand(1));
    if (is_in(kAny)) return nonnegative(op.operand(0)) || nonnegative(op.operand(1));
    if (name == "clamp") return nonnegative(op.operand(1)) && nonnegative(op.operand(2));
    if (name == "sub" && edit::const_int(op.operand(1), &c)) return at_least(op.operand(0), c);
    if (name == "where") return nonnegative(op.operand(1)) && nonnegative(op.operand(2));
    return false;
  }

  std::vector<std::pair<const Value*, int64_t>> known_;  // value, what it is at least
  std::unordered_set<const Value*> assumed_;
  int depth_ = 0;
};

/// lt(x, 0) of an x that cannot be negative.
bool asks_in_vain(const Op& op) {
  int64_t c = -1;
  return op.code == OpCode::kBuiltin && op.name() == "lt" && edit::const_int(op.operand(1), &c) &&
         c == 0 && Signs(op).nonnegative(op.operand(0));
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
