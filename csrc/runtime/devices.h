// SPDX-License-Identifier: Apache-2.0
// devices.h: every device of the process by name: "cpu", then "cuda:0", "cuda:1", ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "csrc/codegen/support/api.h"
#include "csrc/runtime/device.h"

namespace wt::rt {

/// Null if there is none of that name.
WT_API Device* find_device(std::string_view name);
WT_API std::vector<std::string> device_names();

}  // namespace wt::rt
