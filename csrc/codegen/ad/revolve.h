// SPDX-License-Identifier: Apache-2.0
// revolve.h: the binomial checkpoint schedule, written as IR that runs in the adjoint kernel.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "csrc/codegen/ir/builder.h"

namespace wt::ad {

/// Distance from a checkpoint to the next one for a segment of `l` >= 2 iterations (i64) when `c`
/// >= 2 slots are left, the checkpoint's own included: the largest optimal one of Griewank and
/// Walther, "Algorithm 799: revolve" (2000).
ir::Value* emit_split(ir::Builder& b, ir::Value* l, ir::Value* c);

/// Where the checkpoints of one loop are: state arrays [slots, lanes] and their iteration numbers.
struct CheckpointStore {
  std::vector<ir::Value*> state;
  std::vector<bool> read;  ///< per state: by adjoints; the rest serves to run again
  ir::Value* iteration = nullptr;
  ir::Value* slots = nullptr;  ///< i64
  ir::Value* rows = nullptr;   ///< i64: slots of what adjoints read, `slots` or more
  ir::Value* lane = nullptr;
  ir::Value* all = nullptr;  ///< bool: every iteration has its row, row = iteration

  /// Values that adjoints read; the others, with the iteration's number.
  void save_read(ir::Builder& b, std::span<ir::Value* const> values, ir::Value* slot) const;
  void save_rest(ir::Builder& b, std::span<ir::Value* const> values, ir::Value* i,
                 ir::Value* slot) const;
  std::vector<ir::Value*> load(ir::Builder& b, ir::Value* slot) const;
  /// Zeros for what is there only to run again.
  std::vector<ir::Value*> load_read(ir::Builder& b, ir::Value* row) const;

 private:
  void save(ir::Builder& b, std::span<ir::Value* const> values, ir::Value* slot, bool what) const;
};

/// The state after one more iteration of the primal: (builder, iteration number, state) -> state.
using Advance =
    std::function<std::vector<ir::Value*>(ir::Builder&, ir::Value*, std::span<ir::Value* const>)>;

/// In the recording loop at iteration `i` of `n`: saves the state where the schedule wants it.
/// `top` is the last slot in use (-1 at first), `next` the iteration to save next (0 at first).
struct RecordStep {
  ir::Value* top;
  ir::Value* next;
};
RecordStep emit_record(ir::Builder& b, const CheckpointStore& store, ir::Value* i, ir::Value* n,
                       RecordStep at, std::span<ir::Value* const> state);

/// Rows that the reverse loop holds while every iteration has its row: those of the next few
/// iterations, which it loads together, as memory takes longer than an iteration. In each row the
/// values that adjoints read.
struct Group {
  size_t rows = 0;  ///< a power of two; 0: rows are too large for registers
  std::vector<ir::Value*> held;
};
/// Before the reverse loop.
Group emit_group(ir::Builder& b, const CheckpointStore& store);

/// In the reverse loop, at its step k: the state at iteration `i`, which is the last one not yet
/// reversed, the new top of the stack of checkpoints, and the rows for the next step.
struct Recalled {
  ir::Value* top;
  std::vector<ir::Value*> state;
  Group group;
};
struct RecallStep {
  ir::Value *k, *i;
};
Recalled emit_recall(ir::Builder& b, const CheckpointStore& store, RecallStep at, ir::Value* top,
                     const Group& group, const Advance& advance);

}  // namespace wt::ad
