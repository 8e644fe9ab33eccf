// SPDX-License-Identifier: Apache-2.0
// shared_object.h: a shared object loaded from memory.
#pragma once

#include <memory>

#include "csrc/runtime/executable.h"

namespace wt::rt {

/// The type of a CPU kernel entry (codegen/emit/abi.h).
using CpuKernel = void (*)(const void* args, int64_t begin, int64_t end, int64_t lane);

/// Loads a shared object as an Executable that runs on the thread pool. DeviceError with the
/// loader's text, or if the binary is for a processor that this one is not.
std::shared_ptr<Executable> load_shared_object(const Binary& binary);

}  // namespace wt::rt
