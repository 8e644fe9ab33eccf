// SPDX-License-Identifier: Apache-2.0
// cpu_device.h: the processor as a Device. Work is done when a call returns; streams are ignored.
#pragma once

#include "csrc/runtime/device.h"

namespace wt::rt {

/// The one CPU device of the process. Never destroyed.
Device& cpu_device();

}  // namespace wt::rt
