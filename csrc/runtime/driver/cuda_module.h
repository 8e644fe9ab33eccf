// SPDX-License-Identifier: Apache-2.0
// cuda_module.h: a cubin or PTX as an Executable of one device.
#pragma once

#include <memory>

#include "csrc/runtime/device.h"

namespace wt::rt {

std::shared_ptr<Executable> load_cuda_module(const Binary& binary, const DeviceProperties& device);

}  // namespace wt::rt
