// SPDX-License-Identifier: Apache-2.0
// save_values.h: gives loop history its storage. The last step of reverse mode.
#pragma once

#include <vector>

#include "csrc/codegen/ad/ad.h"

namespace wt::ad {

/// Lowers hist_new, hist_push and hist_get of the module's kernel: to local arrays where the number
/// of iterations is a small constant, else to parameters hist0.. with a schedule of checkpoints
/// that is right for any number of slots (ad/README.md).
std::vector<HistSlot> save_values(ir::Module& m);
/// The same without any storage: each iteration is recomputed from the start of its loop.
void recompute_values(ir::Func& f);

}  // namespace wt::ad
