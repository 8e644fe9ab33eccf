// SPDX-License-Identifier: Apache-2.0
// reverser.h: writes the adjoint of one kernel. adjoint.cpp has the rules of the core ops,
// reverse_regions.cpp turns branches and loops round.
#pragma once

#include "csrc/codegen/ad/activity.h"
#include "csrc/codegen/ad/adjoint_scope.h"
#include "csrc/codegen/ad/injective.h"
#include "csrc/codegen/ad/replay.h"
#include "csrc/codegen/ad/shadow.h"
#include "csrc/codegen/ad/tape.h"

namespace wt::ad {

/// What is known about a kernel whose derivative is taken. `kernel` already has its shadows.
struct Analysis {
  const ir::Func& kernel;
  const Shadows& shadows;
  const ArrayRoots& roots;
  const Activity& activity;
  const Injective& injective;
};

/// A region is reversed in two steps: its ops are copied forward without effects, which brings
/// every primal value into scope (what nobody needs is removed later), then each op, last to
/// first, turns the adjoints of its results into adjoints of its operands.
class Reverser {
 public:
  Reverser(const Analysis& a, TapeLogs& logs) : a_(a), logs_(logs), replay_(logs) {}

  /// Fills the body of `out`, which is empty, with the adjoint of a kernel.
  void write(ir::Func& out);
  /// The same for a function: cotangents of its results are ones, adjoints of its float parameters
  /// (arrays left out) are returned.
  void write_gradient(ir::Func& out);

 private:
  void begin(ir::Func& out, ir::Builder& b);
  void replay(const ir::Region& region, ir::Builder& b);
  void reverse_region(const ir::Region& region, AdjointScope& scope, ir::Builder& b);
  void reverse_op(const ir::Op& op, AdjointScope& scope, ir::Builder& b);
  void reverse_value(const ir::Op& op, ir::Value* d, AdjointScope& scope, ir::Builder& b);
  void reverse_builtin(const ir::Op& op, AdjointScope& scope, ir::Builder& b);
  void reverse_attach(const ir::Op& op, AdjointScope& scope, ir::Builder& b);
  void check_reads(const ir::Op& op) const;
  void reverse_make(const ir::Op& op, ir::Value* d, AdjointScope& scope, ir::Builder& b);
  void reverse_extract(const ir::Op& op, ir::Value* d, AdjointScope& scope, ir::Builder& b);
  void reverse_insert(const ir::Op& op, ir::Value* d, AdjointScope& scope, ir::Builder& b);
  void reverse_memory(const ir::Op& op, AdjointScope& scope, ir::Builder& b);
  void reverse_atomic(const ir::Op& op, AdjointScope& scope, ir::Builder& b);
  void reverse_extremum(const ir::Op& op, std::span<ir::Value* const> idx, AdjointScope& scope,
                        ir::Builder& b);
  ir::Value* taken_if(ir::Value* won, ir::Value* shadow, std::span<ir::Value* const> idx,
                      ir::Builder& b) const;
  ir::Value* update(std::string_view kind, const ir::Op& access, ir::Value* x,
                    std::span<ir::Value* const> idx, ir::Builder& b) const;
  void reverse_if(const ir::Op& op, AdjointScope& scope, ir::Builder& b);
  void reverse_loop(const ir::Op& op, AdjointScope& scope, ir::Builder& b);
  void bind_carried(const ir::Op& op, ir::Value* k, ir::Value* trips, ir::Builder& b);
  void finish_parameters(AdjointScope& top, ir::Builder& b);

  void accumulate(const ir::Value* primal, ir::Value* d, AdjointScope& scope, ir::Builder& b);
  ir::Value* shadow(const ir::Op& access) const;
  std::vector<ir::Value*> at(std::span<ir::Value* const> primal) const;
  ir::Value* poisoned(ir::Value* d, ir::Builder& b) const;

  const Analysis& a_;
  TapeLogs& logs_;
  Replay replay_;
  ir::Value* overrun_ = nullptr;  // bool: a log was too short; null if none can be
};

}  // namespace wt::ad
