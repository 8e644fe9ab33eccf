// SPDX-License-Identifier: Apache-2.0
// bundle.h: binaries that were compiled ahead of time. What is in a bundle is found by the text it
// was made of, before any compiler is asked.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "csrc/codegen/emit/target.h"
#include "csrc/codegen/support/api.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/executable.h"

namespace wt::rt {

/// What a bundle files a binary under: the emitted text and what it asks of compilers.
std::string bundle_key(const Source& source);

/// A module compiled for a bundle. `arch` is "x86-64-v3" and such for the target "cpu", "sm_90" or
/// "compute_80" for "cuda".
struct BundleEntry {
  std::string key;
  Binary binary;
};
WT_API BundleEntry bundle_entry(const ir::Module& m, const std::string& label,
                                std::string_view target, const std::string& arch);

/// From here on build() finds the entry.
WT_API void add_bundled(BundleEntry entry);

/// The best binary that runs on the device, if there is one.
std::optional<Binary> bundled(const Source& source, const DeviceProperties& device);

}  // namespace wt::rt
