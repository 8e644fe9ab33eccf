// SPDX-License-Identifier: Apache-2.0
// reverse.h: reverse mode before its loop history is given storage, and what both modes share.
#pragma once

#include "csrc/codegen/ad/ad.h"

namespace wt::ad {

/// reverse() without save_values: the adjoint still holds hist ops and has no hist parameters.
Adjoint reverse_plan_free(const ir::Module& kernel, const Mask& mask);

/// The one kernel of a module.
const ir::Func& the_kernel(const ir::Module& m);
/// A module of that function alone, optimised.
std::unique_ptr<ir::Module> finished(std::unique_ptr<ir::Func> f);
/// Copies the custom gradients that f calls from `functions` into it. Writes to an adjoint array
/// that nobody asked for are dropped.
void inline_gradients(ir::Module& f, const ir::Module& functions);

}  // namespace wt::ad
