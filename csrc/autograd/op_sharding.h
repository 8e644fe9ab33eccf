// SPDX-License-Identifier: Apache-2.0
// op_sharding.h: which dimensions of a launch may be split between processes.
#pragma once

#include <vector>

#include "csrc/codegen/support/api.h"
#include "csrc/runtime/kernel.h"

namespace wt::autograd {

/// One entry a launch dimension d: each thread's coordinate d serves only as index d of array
/// elements, so that a launch over a part of the range, with that part of the arrays whose
/// ParamInfo::tid_dims is above d, does that part of the work. Arrays that are not split may be
/// read, and added to by every part.
WT_API std::vector<bool> shardable_dims(const rt::Kernel& kernel);

}  // namespace wt::autograd
