// SPDX-License-Identifier: Apache-2.0
// cuda_range.h: a MemoryRange in the virtual memory of a GPU.
#pragma once

#include <memory>

#include "csrc/runtime/memory_source.h"

namespace wt::rt {

/// The step of ranges on a device; 0 if it has no virtual memory management.
size_t cuda_range_step(const DeviceProperties& device);
std::unique_ptr<MemoryRange> reserve_cuda_range(const DeviceProperties& device);

}  // namespace wt::rt
