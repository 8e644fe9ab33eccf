// SPDX-License-Identifier: Apache-2.0
// split_structs.h: struct variables by their fields.
#pragma once

#include "csrc/codegen/ir/ir.h"

namespace wt::passes {

/// Makes a variable of each field of struct variables that are set inside loops, so that a loop
/// carries only the fields it changes: not the arrays beside them.
bool split_structs(ir::Func& f);

}  // namespace wt::passes
