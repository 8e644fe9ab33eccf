// SPDX-License-Identifier: Apache-2.0
// uniform_bounds.cpp: bounds of trip counts that do not depend on the thread.
#include <functional>
#include <optional>

#include "csrc/codegen/ad/activity.h"
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

/// Upper bound of an integer as i64: uniform parts as they are, loop indices by their last value.
/// With a null builder it only says whether there is one (any non-null value).
class UpperBound {
 public:
  UpperBound(ir::Builder* b, ir::ValueMap map) : b_(b), map_(std::move(map)) {}

  bool exists(const ir::Value* v) {
    if (!is_int_scalar(v)) return false;
    if (uniform(v) || const_int(v)) return true;
    if (is_loop_index(v)) return exists(v->owner->parent->operand(0));
    if (!v->def) return false;
    const ir::Op& op = *v->def;
    if (op.code == ir::OpCode::kCast) return exists(op.operand(0));
    if (op.code == ir::OpCode::kSelect) return exists(op.operand(1)) && exists(op.operand(2));
    if (op.code != ir::OpCode::kBuiltin) return false;
    const std::string_view name = op.name();
    if (name == "add" || name == "max") return exists(op.operand(0)) && exists(op.operand(1));
    if (name == "min") return exists(op.operand(0)) || exists(op.operand(1));
    if (name == "sub") return exists(op.operand(0)) && lower_exists(op.operand(1));
    if (name == "mul" || name == "floordiv") {
      const auto c = const_int(op.operand(1));
      return exists(op.operand(0)) && c && *c > 0;
    }
    return false;
  }

  ir::Value* emit(const ir::Value* v) {
    if (uniform(v)) return b_->cast(copy_uniform(*b_, v, map_), ir::i64_type());
    if (is_loop_index(v)) {
      return b_->sub(emit(v->owner->parent->operand(0)), b_->const_int(1, ir::i64_type()));
    }
    const ir::Op& op = *v->def;
    if (op.code == ir::OpCode::kCast) return emit(op.operand(0));
    if (op.code == ir::OpCode::kSelect) {
      return b_->builtin("max", {emit(op.operand(1)), emit(op.operand(2))});
    }
    const std::string_view name = op.name();
    if (name == "min" && !exists(op.operand(0))) return emit(op.operand(1));
    if (name == "min" && !exists(op.operand(1))) return emit(op.operand(0));
    ir::Value* x = emit(op.operand(0));
    return b_->builtin(name, {x, name == "sub" ? emit_lower(op.operand(1)) : emit(op.operand(1))});
  }

 private:
  static bool lower_exists(const ir::Value* v) {
    while (v->def && v->def->code == ir::OpCode::kCast) v = v->def->operand(0);
    return is_int_scalar(v) && (uniform(v) || is_loop_index(v));
  }
  ir::Value* emit_lower(const ir::Value* v) {
    while (v->def && v->def->code == ir::OpCode::kCast) v = v->def->operand(0);
    if (is_loop_index(v)) return b_->const_int(0, ir::i64_type());
    return emit(v);
  }

  ir::Builder* b_;
  ir::ValueMap map_;
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

}  // namespace

UniformBounds::UniformBounds(const ir::Func& f) {
  UpperBound upper(nullptr, {});
  ir::walk(f.body, [&](const ir::Op& op) {
    if (op.code == ir::OpCode::kFor && upper.exists(op.operand(0))) {
      bounds_[&op] = {op.operand(0), false};
    } else if (op.code == ir::OpCode::kFor || op.code == ir::OpCode::kWhile) {
      const ir::Value* stated = stated_bound(*op.regions[0]);
      if (stated && upper.exists(stated)) bounds_[&op] = {stated, true};
    }
  });
}

bool UniformBounds::checked(const ir::Op& loop) const {
  const auto it = bounds_.find(&loop);
  return it != bounds_.end() && it->second.checked;
}

ir::Value* UniformBounds::emit(ir::Builder& b, const ir::Op& loop,
                               const ir::ValueMap& params) const {
  ir::Value* n = UpperBound(&b, params).emit(bounds_.at(&loop).trips);
  return b.builtin("max", {n, b.const_int(1, ir::i64_type())});
}

}  // namespace wt::ad
