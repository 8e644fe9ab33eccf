// SPDX-License-Identifier: Apache-2.0
// ad_passes.h: derivatives as rows of the pass table, for golden tests and for looking at them.
#pragma once

#include "csrc/codegen/ir/ir.h"

namespace wt::ad {

// Each replaces the module by one of the forms of its kernel. The kernel's attribute
// mask="x y" names the parameters that carry a derivative; without it all that can do.
bool reverse_pass(ir::Module& m);      ///< the adjoint with loop history as hist ops
bool augment_pass(ir::Module& m);      ///< the primal that writes the tape (the primal if none)
bool tangent_pass(ir::Module& m);      ///< the tangent kernel
bool save_values_pass(ir::Module& m);  ///< storage for loop history; keeps the rest

}  // namespace wt::ad
