// SPDX-License-Identifier: Apache-2.0
// adjoint_scope.cpp: adjoints by scope; carried values of reverse loops made on demand.
#include "csrc/codegen/ad/adjoint_scope.h"

#include <algorithm>

namespace wt::ad {
namespace {

const ir::Region* region_of(const ir::Value* v) { return v->def ? v->def->parent : v->owner; }

/// Appends zero(type) just before `op`, the last op of its region.
ir::Value* zero_before(const ir::Op& op, ir::Type type) {
  ir::Region& region = *op.parent;
  ir::Builder b(&region);
  b.set_loc(op.loc);
  ir::Value* zero = b.zero(type);
  std::rotate(region.ops.end() - 2, region.ops.end() - 1, region.ops.end());
  return zero;
}

}  // namespace

ir::Value* append_result(ir::Op& op, ir::Type type) {
  auto v = std::make_unique<ir::Value>();
  v->type = type;
  v->def = &op;
  v->index = static_cast<int>(op.results.size());
  op.results.push_back(std::move(v));
  return op.results.back().get();
}

bool AdjointScope::owns(const ir::Value* primal) const { return region_of(primal) == primal_; }

ir::Value* AdjointScope::current(const ir::Value* primal) {
  if (const auto it = adjoint_.find(primal); it != adjoint_.end()) return it->second;
  if (!outer_ || owns(primal)) return nullptr;
  return kind_ == Kind::kLoop ? carry(primal) : outer_->current(primal);
}

void AdjointScope::set(const ir::Value* primal, ir::Value* adjoint) {
  const bool fresh = adjoint_.insert_or_assign(primal, adjoint).second;
  if (fresh && outer_ && !owns(primal)) captured_.push_back(primal);
}

ir::Value* AdjointScope::carry(const ir::Value* primal) {
  ir::Value* init = outer_->current(primal);
  op_->operands.push_back(init ? init : zero_before(*op_, primal->type));
  append_result(*op_, primal->type);
  ir::Value* arg = op_->regions[0]->add_arg(primal->type, primal->hint);
  set(primal, arg);
  return arg;
}

}  // namespace wt::ad
