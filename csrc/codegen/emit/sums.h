// SPDX-License-Identifier: Apache-2.0
// sums.h: which atomic additions may be added up over threads first.
//
// When every thread adds to the same element (a loss, the gradient of a parameter), the additions
// wait for each other. A thread that runs many of the launch's threads adds up in registers and
// writes the sum once; on a GPU a block's threads put theirs together before.
#pragma once

#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt::emit {

/// Atomic additions, in order, to one element of an array parameter whose index is a constant,
/// whose old value nobody takes. Nothing that the thread reads or writes in memory follows them, so
/// that it is the same when the sum is written after everything else.
std::vector<const ir::Op*> sum_atomics(const ir::Func& f);

}  // namespace wt::emit
