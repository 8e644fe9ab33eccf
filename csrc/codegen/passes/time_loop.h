// SPDX-License-Identifier: Apache-2.0
// time_loop.h: one kernel that runs a step kernel many times over, for wt.rollout.
//
// Carried arrays become values in registers that a loop over time carries; arrays given per step
// and arrays of results get a leading time dimension. That is the same computation only where no
// thread looks at what another thread carries, so every access of a carried array is checked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt::passes {

struct TimeLoop {
  /// A carried value: the parameter with the value at the start of a step, and the one that gets
  /// the value at its end (the same one if the step works in place).
  struct Carry {
    int before = 0;
    int after = 0;
    bool every_step = false;  ///< also a result: `<before>_steps`, the value after each step
  };
  std::vector<Carry> carry;
  std::vector<int> per_step;  ///< arrays given for each step
  std::vector<int> outputs;   ///< arrays written in each step and returned for each
  /// The state is saved at every `segment`-th step (0: at none), and the adjoint runs the steps
  /// between again.
  int64_t segment = 0;
};

struct FusedLoop {
  /// Parameters: those of the step, of which arrays given or returned per step have one dimension
  /// more, then for each carry: `<before>_final` if it is in place, `<before>_steps` if asked for.
  /// The number of steps is the length of the first array given per step, or, with none, a last
  /// parameter `num_steps`: i32. Null where the step does not qualify.
  std::unique_ptr<ir::Module> module;
  std::string why_not;  ///< a sentence for people
};

/// `step` is an inlined, optimised module with one kernel.
FusedLoop fuse_time_loop(const ir::Module& step, const TimeLoop& loop);

}  // namespace wt::passes
