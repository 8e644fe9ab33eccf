// SPDX-License-Identifier: Apache-2.0
// sums.h: which atomic additions may be added up over threads first.
//
// When every thread adds to the same element (a loss, the gradient of a parameter), the additions
// wait for each other. A thread that runs many of the launch's threads adds up in registers and
// writes the sum once; on a GPU a block's threads put theirs together before. Where the element
// changes in the course of the thread, but not from thread to thread, a warp does that each time.
#pragma once

#include <unordered_set>
#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt::emit {

/// Atomic additions, in order, to one element of an array parameter whose index is a constant,
/// whose old value nobody takes. Nothing that the thread reads or writes in memory follows them, so
/// that it is the same when the sum is written after everything else.
std::vector<const ir::Op*> sum_atomics(const ir::Func& f);

/// Other atomic additions whose old value nobody takes, to an element that follows from what all
/// threads have in common.
std::unordered_set<const ir::Op*> warp_sums(const ir::Func& f);

}  // namespace wt::emit
