// SPDX-License-Identifier: Apache-2.0
// merge_updates.h: fewer accesses of adjoint elements that one thread owns.
#pragma once

#include "csrc/codegen/ir/ir.h"

namespace wt::ad {

/// An element updated in place gives an exchange with zero and later an add to the same element.
/// With plain=1 on both and nothing between that touches the array, that is a load and a store, and
/// no store at all if the added value is the loaded one. Not before the choice of atomic updates.
bool merge_updates(ir::Module& m);

}  // namespace wt::ad
