// SPDX-License-Identifier: Apache-2.0
// save_values.cpp: loop history to storage.
#include "csrc/codegen/ad/save_values.h"

namespace wt::ad {

std::vector<HistSlot> save_values(ir::Module&) { return {}; }

}  // namespace wt::ad
