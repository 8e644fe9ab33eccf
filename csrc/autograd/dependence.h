// SPDX-License-Identifier: Apache-2.0
// dependence.h: which arrays of a kernel come to depend on which, differentiably.
#pragma once

#include <vector>

#include "csrc/codegen/program.h"

namespace wt::autograd {

/// Per parameter: whether what its arrays hold after a launch may depend on the marked parameters
/// with a derivative. Computed once for a kernel and a mask; thread-safe.
const std::vector<bool>& dependent_arrays(const Program& program, const ad::Mask& on);

}  // namespace wt::autograd
