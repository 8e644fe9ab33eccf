// SPDX-License-Identifier: Apache-2.0
// uniform_bounds.cpp: bounds of trip counts that do not depend on the thread.
#include <functional>
#include <optional>

#include "csrc/codegen/ad/activity.h"
#include "csrc/codegen/ad/loop_counters.h"
#include "csrc/codegen/ad/replay.h"
#include "csrc/codegen/ad/tape.h"
#include "csrc/codegen/support/error.h"

namespace wt::ad {
namespace {

bool is_param(const ir::Value* v) { return !v->def && !v->owner->parent; }

bool is_int_scalar(const ir::Value* v) {
  return ir::is_scalar(v->type) && ir::is_int(v->type->scalar);
}

/// The same for every thread of a launch: made by pure ops from constants, parameters and shapes.
bool uniform(const ir::Value* v) {
  if (is_param(v)) return true;
  if (!v->def) return false;
  const ir::Op& op = *v->def;
  if (!op.regions.empty() || !ir::op_info(op.code).pure || op.code == ir::OpCode::kTid ||
      op.code == ir::OpCode::kLane || op.code == ir::OpCode::kThread) {
    return false;
  }
  for (const ir::Value* x : op.operands) {
    if (!uniform(x)) return false;
  }
  return true;
}

bool is_loop_index(const ir::Value* v) {
  return v->owner && v->owner->parent && v->owner->parent->code == ir::OpCode::kFor &&
         v->index == 0;
}

std::optional<int64_t> const_int(const ir::Value* v) {
  while (v->def && v->def->code == ir::OpCode::kCast) v = v->def->operand(0);
  if (!v->def || v->def->code != ir::OpCode::kConst) return {};
  const auto* value = std::get_if<int64_t>(v->def->attr("v"));
  return value ? std::optional<int64_t>(*value) : std::nullopt;
}

ir::Value* copy_uniform(ir::Builder& b, const ir::Value* v, ir::ValueMap& map) {
  if (const auto it = map.find(v); it != map.end()) return it->second;
  for (const ir::Value* x : v->def->operands) copy_uniform(b, x, map);
  b.clone(*v->def, map);
  return map.at(v);
}

using Stated = std::function<const ir::Value*(const ir::Op& loop)>;

/// Upper bound of an integer as i64: uniform parts as they are, loop indices by their last value.
class UpperBound {
 public:
  /// `stated` gives the bound that the user states for a loop, or null.
  explicit UpperBound(Stated stated) : stated_(std::move(stated)) {}

  bool exists(const ir::Value* v) const {
    if (!is_int_scalar(v)) return false;
    if (uniform(v)) return true;
    if (is_loop_index(v)) return of_trips(*v->owner->parent) != nullptr;
    if (!v->def) return false;
    const ir::Op& op = *v->def;
    if (op.code == ir::OpCode::kCast) return exists(op.operand(0));
    if (op.code == ir::OpCode::kSelect) return exists(op.operand(1)) && exists(op.operand(2));
    if (op.code != ir::OpCode::kBuiltin) return false;
    const std::string_view name = op.name();
    const bool by_constant = op.operands.size() == 2 && const_int(op.operand(1)).value_or(0) > 0;
    if (name == "mod") return by_constant;
    if (name == "mul" || name == "floordiv") return by_constant && exists(op.operand(0));
    if (name == "add" || name == "max") return exists(op.operand(0)) && exists(op.operand(1));
    if (name == "min") return exists(op.operand(0)) || exists(op.operand(1));
    if (name == "sub") return exists(op.operand(0)) && lower_exists(op.operand(1));
    return false;
  }

  /// Likewise a lower bound.
  bool lower_exists(const ir::Value* v) const {
    if (!is_int_scalar(v)) return false;
    if (uniform(v) || is_loop_index(v)) return true;
    if (!v->def) return false;
    const ir::Op& op = *v->def;
    if (op.code == ir::OpCode::kCast) return lower_exists(op.operand(0));
    if (op.code == ir::OpCode::kSelect)
      return lower_exists(op.operand(1)) && lower_exists(op.operand(2));
    if (op.code != ir::OpCode::kBuiltin || op.operands.size() != 2) return false;
    const std::string_view name = op.name();
    const bool by_constant = const_int(op.operand(1)).value_or(0) > 0;
    if (name == "mod") return by_constant;
    if (name == "mul" || name == "floordiv") return by_constant && lower_exists(op.operand(0));
    if (name == "add" || name == "min")
      return lower_exists(op.operand(0)) && lower_exists(op.operand(1));
    if (name == "max") return lower_exists(op.operand(0)) || lower_exists(op.operand(1));
    if (name == "sub") return lower_exists(op.operand(0)) && exists(op.operand(1));
    return false;
  }
  ir::Value* lower(ir::Builder& b, const ir::Value* v, ir::ValueMap& map) const {
    if (uniform(v)) return emit(b, v, map);
    if (is_loop_index(v)) return b.const_int(0, ir::i64_type());
    const ir::Op& op = *v->def;
    if (op.code == ir::OpCode::kCast) return lower(b, op.operand(0), map);
    if (op.code == ir::OpCode::kSelect)
      return b.builtin("min", {lower(b, op.operand(1), map), lower(b, op.operand(2), map)});
    const std::string_view name = op.name();
    // Of a negative number, the remainder may have either sign.
    if (name == "mod") return b.const_int(1 - *const_int(op.operand(1)), ir::i64_type());
    if (name == "max" && !lower_exists(op.operand(0))) return lower(b, op.operand(1), map);
    if (name == "max" && !lower_exists(op.operand(1))) return lower(b, op.operand(0), map);
    ir::Value* x = lower(b, op.operand(0), map);
    ir::Value* y = name == "sub" ? emit(b, op.operand(1), map) : lower(b, op.operand(1), map);
    return b.builtin(name, {x, y});
  }

  /// `map` has the function's parameters in the function that `b` writes.
  ir::Value* emit(ir::Builder& b, const ir::Value* v, ir::ValueMap& map) const {
    if (uniform(v)) return b.cast(copy_uniform(b, v, map), ir::i64_type());
    if (is_loop_index(v)) {
      ir::Value* n = emit(b, of_trips(*v->owner->parent), map);
      return b.sub(n, b.const_int(1, ir::i64_type()));
    }
    const ir::Op& op = *v->def;
    if (op.code == ir::OpCode::kCast) return emit(b, op.operand(0), map);
    if (op.code == ir::OpCode::kSelect) {
      return b.builtin("max", {emit(b, op.operand(1), map), emit(b, op.operand(2), map)});
    }
    const std::string_view name = op.name();
    if (name == "mod") return b.const_int(*const_int(op.operand(1)) - 1, ir::i64_type());
    if (name == "min" && !exists(op.operand(0))) return emit(b, op.operand(1), map);
    if (name == "min" && !exists(op.operand(1))) return emit(b, op.operand(0), map);
    ir::Value* x = emit(b, op.operand(0), map);
    ir::Value* y = name == "sub" ? lower(b, op.operand(1), map) : emit(b, op.operand(1), map);
    return b.builtin(name, {x, y});
  }

  /// The value whose upper bound bounds the loop's trip count: the count itself, or what the user
  /// states; null if neither has one.
  const ir::Value* of_trips(const ir::Op& loop) const {
    if (loop.code == ir::OpCode::kFor && exists(loop.operand(0))) return loop.operand(0);
    const ir::Value* stated = stated_(loop);
    return stated && exists(stated) ? stated : nullptr;
  }

 private:
  Stated stated_;
};

/// The bound that the user states inside the loop, but outside of loops within.
const ir::Value* stated_bound(const ir::Region& body) {
  for (const auto& op : body.ops) {
    if (op->code == ir::OpCode::kLoopBound) return op->operand(0);
    if (op->code != ir::OpCode::kIf) continue;
    for (const auto& branch : op->regions) {
      if (const ir::Value* v = stated_bound(*branch)) return v;
    }
  }
  return nullptr;
}

const ir::Value* stated_in_body(const ir::Op& loop) { return stated_bound(*loop.regions[0]); }

/// A counter whose limit and start have bounds; without limit if there is none.
LoopCounter counter_of(const ir::Op& loop, const UpperBound& upper) {
  for (const LoopCounter& c : loop_counters(loop))
    if (upper.exists(c.high) && upper.lower_exists(c.low)) return c;
  return {};
}

}  // namespace

UniformBounds::UniformBounds(const ir::Func& f) {
  const UpperBound upper(stated_in_body);
  ir::walk(f.body, [&](const ir::Op& op) {
    if (op.code != ir::OpCode::kFor && op.code != ir::OpCode::kWhile) return;
    const ir::Value* trips = upper.of_trips(op);
    const bool own = op.code == ir::OpCode::kFor && trips == op.operand(0);
    if (trips) {
      bounds_[&op] = {.trips = trips, .checked = !own};
    } else if (const LoopCounter c = counter_of(op, upper); c.high) {
      bounds_[&op] = {.trips = c.high, .start = c.low, .more = c.more, .checked = true};
    }
  });
}

bool UniformBounds::checked(const ir::Op& loop) const {
  const auto it = bounds_.find(&loop);
  return it != bounds_.end() && it->second.checked;
}

ir::Value* UniformBounds::emit(ir::Builder& b, const ir::Op& loop,
                               const ir::ValueMap& params) const {
  ir::ValueMap map = params;
  const UpperBound upper(stated_in_body);
  const Bound& bound = bounds_.at(&loop);
  ir::Value* n = upper.emit(b, bound.trips, map);
  if (bound.start) n = b.sub(n, upper.lower(b, bound.start, map));
  if (bound.more) n = b.add(n, b.const_int(bound.more, ir::i64_type()));
  return b.builtin("max", {n, b.const_int(1, ir::i64_type())});
}

}  // namespace wt::ad
