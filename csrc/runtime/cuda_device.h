// SPDX-License-Identifier: Apache-2.0
// cuda_device.h: the GPUs as Devices, in the order of CUDA (and so of PyTorch).
#pragma once

#include <string>

#include "csrc/codegen/support/api.h"
#include "csrc/runtime/device.h"

namespace wt::rt {

/// Number of usable devices; 0 without a driver. Never throws. Starts the driver.
WT_API int cuda_device_count();
/// Why there is none; empty if there is one.
WT_API std::string cuda_absence();

/// Device `index`, opened at first use and never closed. DeviceError if there is no such device.
Device& cuda_device(int index);

/// Which graph capture records `stream`: a number that is unique in the process, 0 for none.
uint64_t cuda_capture_id(int device, Stream stream);

}  // namespace wt::rt
