// SPDX-License-Identifier: Apache-2.0
// fresh_gradients.h: adjoints for gradient memory that nobody has written to yet.
#pragma once

#include <vector>

#include "csrc/codegen/ad/ad.h"
#include "csrc/codegen/kernel_info.h"

namespace wt::ad {

/// Turns the adjoint's adds into stores where each thread adds once, unconditionally, at exactly
/// its own element of an array that it touches nowhere else; returns those parameters. Also drops
/// the clearing of cotangents of arrays that the primal stores to once, unconditionally, at each
/// thread's own element and uses in no other way, and says so in `consumes`.
std::vector<bool> use_fresh_gradients(ir::Func& adjoint, const KernelInfo& primal, const Mask& mask,
                                      std::vector<bool>& consumes);

/// For gradients that are zero before: the adjoint's adds into stores where no element gets two of
/// them, also where some get none; returns those parameters.
std::vector<bool> use_zero_gradients(ir::Func& adjoint, const KernelInfo& primal, const Mask& mask);

}  // namespace wt::ad
