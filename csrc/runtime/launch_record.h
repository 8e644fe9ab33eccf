// SPDX-License-Identifier: Apache-2.0
// launch_record.h: writes down which kernels were built, so that a test can check that all of them
// also compile for GPUs that are not there.
#pragma once

#include <string_view>

#include "csrc/codegen/program.h"

namespace wt::rt {

/// With $WT_RECORD_KERNELS naming a folder, adds `entry` to <program hash>.forms there, and the
/// program's IR as <program hash>.wir on first sight. Does nothing otherwise.
void record_kernel(const Program& program, std::string_view entry);

}  // namespace wt::rt
