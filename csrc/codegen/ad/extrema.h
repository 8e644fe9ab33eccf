// SPDX-License-Identifier: Apache-2.0
// extrema.h: atomic minima and maxima of elements that one thread owns.
#pragma once

#include "csrc/codegen/ad/activity.h"
#include "csrc/codegen/ir/ir.h"

namespace wt::ad {

/// Of arrays in `mask`: where one thread owns the element, an atomic becomes a load, `min` or
/// `max`, and a store. In reverse mode one stays as it is if nothing else touches the array: the
/// value that the launch left tells who won, and no log is needed.
void own_extrema(ir::Func& f, const Mask& mask, Mode mode);

}  // namespace wt::ad
