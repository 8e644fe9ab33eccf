// SPDX-License-Identifier: Apache-2.0
// loop_memory.h: fewer accesses of memory in the loops of an adjoint.
#pragma once

#include "csrc/codegen/ir/ir.h"

namespace wt::ad {

/// An element that is the same in all iterations is loaded once, before the loop, and what is added
/// to it is added up and added once, after the loop; both only where the loop runs, and where it
/// does not touch that array otherwise. A loop whose iterations then depend on each other through
/// sums alone is marked any_order=1. Not before the choice of atomic updates.
bool loop_memory(ir::Module& m);

}  // namespace wt::ad
