// SPDX-License-Identifier: Apache-2.0
// whole_elements.h: accesses of parts of elements become accesses of the elements.
#pragma once

#include <unordered_set>

#include "csrc/codegen/ir/ir.h"

namespace wt::passes {

/// For parameters of which each thread has elements of its own: a part is stored by a load and a
/// store of the element, and added to by an addition of zeros to the rest of it.
void whole_elements(ir::Func& f, const std::unordered_set<const ir::Value*>& arrays);

}  // namespace wt::passes
