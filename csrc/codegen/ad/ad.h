// SPDX-License-Identifier: Apache-2.0
// ad.h: derivatives as IR. A derivative is a kernel like any other: same passes, printer, emitter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt::ad {

/// Which parameters carry a derivative: for the adjoint, arrays and float scalars whose gradient is
/// read or written; for the tangent, those with a tangent. Indexed like the kernel's parameters.
using Mask = std::vector<bool>;

/// One value log: a value that running the primal again cannot give. It becomes an array parameter
/// `tape<k>` of type array<T,2>, shape [trips, size*batch], of the augmented forward and the
/// adjoint.
struct TapeSlot {
  ir::Type type = nullptr;
  /// Rows of the log: product of constants and of the trip counts of the enclosing loops, each
  /// computed from scalar parameters and array shapes by the kernel-like function `trips`
  /// (same parameters as the kernel, returns i64); null means one row.
  std::unique_ptr<ir::Func> trips;
  Loc loc;
};

/// Scratch used by one adjoint launch for loop history: array parameters `hist<k>`, type
/// array<T,2>, shape [slots, lanes]; `slots` is the launch's choice from the budget (at least 2),
/// the same for all entries of one loop. If those that the adjoint reads have as many slots as the
/// loop has iterations, nothing is computed twice, and the others need no more than two.
struct HistSlot {
  ir::Type type = nullptr;
  int64_t fixed_slots = 0;  ///< > 0: never needs more
  int loop = 0;
  bool read = true;  ///< the adjoint of an iteration reads it; else it serves to run again
};

struct Adjoint {
  /// Parameters: those of the primal, then one `adj_<name>` per masked parameter (array -> array of
  /// the same type; scalar or numeric T -> array<T,1> of one element, accumulated into), then
  /// tape0.., then hist0... Reads no array it need not; writes only adjoints and history.
  std::unique_ptr<ir::Module> adjoint;
  /// The primal plus its stores to tape0..; null when there is no tape.
  std::unique_ptr<ir::Module> augmented;
  std::vector<TapeSlot> tape;
  std::vector<HistSlot> history;
  std::vector<bool> reads_primal;  ///< per parameter: the adjoint reads that array's values
  /// Per parameter: those values are the ones that the launch left there (atomic min and max), not
  /// the ones it found.
  std::vector<bool> reads_result;
  std::vector<bool> consumes;  ///< per parameter: it clears elements of that adjoint (stored ones)
  std::vector<bool> adds;      ///< per parameter: it adds into that adjoint
  /// Updates marked plain=1 are right for launches whose dimensions from this one on are 1, and
  /// arrays whose elements (batch entries included) do not overlap; else make them atomic first.
  int plain_dims = 0;
};

/// `kernel` is an inlined, optimised module with one kernel (no var/get/set, no call).
/// Throws GradientError at the Python line when the derivative is refused.
Adjoint reverse(const ir::Module& kernel, const Mask& mask);

/// Replaces the body of every function that has the attribute gradient_of="f": parameters of f,
/// returns the gradient of the sum of f's results by each float parameter of f (arrays are
/// constants). Calls in f may themselves be gradients. f may not write memory. True if there were
/// any.
bool expand_gradients(ir::Module& m);

/// The kernel with tangents: parameters of the primal, then `tan_<name>` per masked parameter
/// (array
/// -> array; scalar -> the scalar). Computes primal stores and tangent stores.
std::unique_ptr<ir::Module> forward(const ir::Module& kernel, const Mask& mask);

}  // namespace wt::ad
