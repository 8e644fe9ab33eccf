// SPDX-License-Identifier: Apache-2.0
// array_choice.h: array variables that change in loops become numbers of arrays.
#pragma once

#include "csrc/codegen/ir/ir.h"

namespace wt::ad {

/// Where a loop carries array variables and each of them is, at any time, one of a few arrays that
/// are there before the loop, it carries the number of that array in their place. Reverse mode
/// keeps numbers from one iteration to the next; arrays it cannot.
void number_arrays(ir::Func& f);

}  // namespace wt::ad
