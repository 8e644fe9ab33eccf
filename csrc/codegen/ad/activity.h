// SPDX-License-Identifier: Apache-2.0
// activity.h: which values need an adjoint or a tangent.
#pragma once

#include <unordered_set>
#include <vector>

#include "csrc/codegen/ad/ad.h"
#include "csrc/codegen/ad/array_roots.h"
#include "csrc/codegen/ad/injective.h"
#include "csrc/codegen/ir/ir.h"

namespace wt::ad {

/// True if a value of the type has float components of its own (those of arrays do not count).
bool carries_floats(ir::Type t);

/// Results, operands and region arguments of a loop line up once the counter of `for` is skipped:
/// result(i), yield operand(i), operand(i + skip), argument(i + skip).
inline size_t loop_skip(const ir::Op& op) { return op.code == ir::OpCode::kFor ? 1 : 0; }

enum class Mode { kReverse, kForward };

/// Varied: depends on something that carries a derivative. Useful: something that carries a
/// derivative depends on it. A value needs an adjoint if it is both.
class Activity {
 public:
  /// `mask` may be shorter than the parameters: the rest carries no derivative.
  Activity(const ir::Func& f, const Mask& mask, const ArrayRoots& roots);

  bool varied(const ir::Value* v) const { return varied_.contains(v); }
  bool useful(const ir::Value* v) const { return useful_.contains(v); }
  bool active(const ir::Value* v) const { return varied(v) && useful(v); }
  /// What the parameter's arrays hold afterwards may depend on something that carries a derivative.
  bool varied_memory(int param) const;
  /// Some memory that `array` may be carries a derivative.
  bool masked(const ir::Value* array) const;
  /// The op, or one inside it, contributes to an adjoint or clears one.
  bool reversed(const ir::Op& op) const;

  /// Throws GradientError for what no derivative can be given of in that mode.
  void check(Mode mode, const Injective& injective) const;
  /// Every access of the array is an atomic of this kind whose result is not differentiated, so
  /// that after the launch each element tells which value has won.
  bool only_extremum(const ir::Op& op) const;

 private:
  bool sweep_varied(const ir::Region& region);
  bool varied_op(const ir::Op& op);
  bool mark_varied(const ir::Value* v);
  bool sweep_useful(const ir::Region& region);
  bool useful_op(const ir::Op& op);
  bool useful_memory(const ir::Op& op);
  bool varied_attach(const ir::Op& op);
  bool varied_native(const ir::Op& op);
  bool useful_native(const ir::Op& op);
  /// An operand is an array, of floats, with its flag set.
  bool takes(const ir::Op& op, const std::vector<bool>& flags) const;
  bool useful_attach(const ir::Op& op);
  bool useful_regions(const ir::Op& op);
  bool mark_useful(const ir::Value* v);
  bool any_of(const ir::Value* array, const std::vector<bool>& flags) const;
  bool set_roots(const ir::Value* array, std::vector<bool>& flags);
  bool set_roots(const std::vector<int>& of, std::vector<bool>& flags);
  bool reaches(const ir::Value* x, const std::vector<bool>& flags) const;
  void check_op(const ir::Op& op, Mode mode) const;
  void check_memory(const ir::Op& op) const;
  void check_atomic(const ir::Op& op, Mode mode, const Injective& injective) const;

  const ir::Func& f_;
  const ArrayRoots& roots_;
  std::vector<bool> masked_;         // per root
  std::vector<bool> varied_memory_;  // per root: masked, or a varied value is stored there
  std::vector<bool> useful_memory_;  // per root: masked, or a useful value is loaded from there
  std::unordered_set<const ir::Value*> varied_, useful_;
};

}  // namespace wt::ad
