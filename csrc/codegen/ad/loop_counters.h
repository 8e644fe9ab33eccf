// SPDX-License-Identifier: Apache-2.0
// loop_counters.h: integers that a `while` loop moves towards a limit as long as it goes on.
#pragma once

#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt::ad {

/// The loop goes on only while the counter, moved by at least one in each iteration, has not
/// reached the limit. Values that it had: `low` at first and below `high` (or the other way round).
struct LoopCounter {
  const ir::Value* high = nullptr;
  const ir::Value* low = nullptr;
  int64_t more = 0;  ///< iterations beyond `high - low`
};

/// `while k < n and ...` with k += 1, `while k >= 0` with k -= 1 and `break` before that,
/// `while True` with `if k >= n: break`: all that branches on the way to the loop's flag imply.
std::vector<LoopCounter> loop_counters(const ir::Op& loop);

}  // namespace wt::ad
