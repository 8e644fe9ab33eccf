// SPDX-License-Identifier: Apache-2.0
// row_walks.h: arrays of which each thread walks along a row of its own.
#pragma once

#include <cstddef>
#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt {

/// Offsets, in the argument block, of arrays that the kernel walks along in a loop, each thread in
/// a row of its own; for the gradient adj_<name> of an array once more that of the array.
/// Neighbouring threads are far apart in such an array, so that each thread needs a cache line of
/// it to itself.
std::vector<size_t> row_walks(const ir::Func& kernel, const std::vector<size_t>& offsets);

}  // namespace wt
