// SPDX-License-Identifier: Apache-2.0
// row_lanes.h: how many threads of a GPU may walk along rows of their own at a time.
#pragma once

#include "csrc/codegen/program.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/executable.h"

namespace wt::autograd {

/// Limits `shape.max_lanes` so that the cache lines of all rows that are walked along at a time
/// stay in a multiprocessor's cache: a line that is lost is read again for each of its words.
/// `block` has the form's arrays, but for gradients.
void limit_to_cached_rows(const Form& form, const rt::DeviceProperties& device, const char* block,
                          rt::LaunchShape& shape);

}  // namespace wt::autograd
