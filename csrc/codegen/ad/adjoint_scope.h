// SPDX-License-Identifier: Apache-2.0
// adjoint_scope.h: the adjoints known so far while a region is reversed.
#pragma once

#include <unordered_map>
#include <vector>

#include "csrc/codegen/ir/builder.h"

namespace wt::ad {

/// One scope per primal region that is being reversed. A missing adjoint is zero. An adjoint of a
/// value from outside starts from what the outer scope knows: in a branch that value itself, in a
/// loop a carried value, added to the reverse loop when it is first needed.
class AdjointScope {
 public:
  enum class Kind { kTop, kBranch, kLoop };

  /// `op` is the reverse `if` or loop around the region being written (null at the top).
  AdjointScope(Kind kind, const ir::Region* primal, AdjointScope* outer, ir::Op* op)
      : kind_(kind), primal_(primal), outer_(outer), op_(op) {}

  /// Adjoint of the primal value so far; null is zero.
  ir::Value* current(const ir::Value* primal);
  void set(const ir::Value* primal, ir::Value* adjoint);

  /// Values from outside whose adjoint this scope changed, in order of first change.
  const std::vector<const ir::Value*>& captured() const { return captured_; }
  bool owns(const ir::Value* primal) const;

 private:
  ir::Value* carry(const ir::Value* primal);

  Kind kind_;
  const ir::Region* primal_;
  AdjointScope* outer_;
  ir::Op* op_;
  std::unordered_map<const ir::Value*, ir::Value*> adjoint_;
  std::vector<const ir::Value*> captured_;
};

/// Appends a result to an op that is being built.
ir::Value* append_result(ir::Op& op, ir::Type type);

}  // namespace wt::ad
