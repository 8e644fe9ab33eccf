// SPDX-License-Identifier: Apache-2.0
// loop_fusion.h: one loop of neighbours that count alike.
#pragma once

#include "csrc/codegen/ir/ir.h"

namespace wt::passes {

/// Makes one of two `for` loops with the same trip count that follow one another, if the second
/// needs nothing of the first and at most one of them touches memory that it may change. On
/// request.
bool loop_fusion(ir::Module& m);

}  // namespace wt::passes
