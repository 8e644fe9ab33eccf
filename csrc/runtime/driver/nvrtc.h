// SPDX-License-Identifier: Apache-2.0
// nvrtc.h: CUDA C++ text to a cubin or PTX with NVRTC, opened at first use. Needs no driver.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "csrc/codegen/support/api.h"
#include "csrc/runtime/executable.h"

namespace wt::rt {

struct NvrtcOptions {
  std::string arch;                        ///< "sm_90" gives a cubin, "compute_80" gives PTX.
  bool debug = false;                      ///< Line numbers for debuggers.
  std::vector<std::string> extra_flags{};  ///< After all others.
};

/// Folders to look for libnvrtc.so.* in, such as those of the PyTorch wheels. A copy that the
/// process has loaded already goes first, the system's and CUDA_HOME's go last.
WT_API void set_nvrtc_search_folders(std::vector<std::string> folders);

/// Whether NVRTC can be loaded.
WT_API bool nvrtc_present();
/// "13.0". DeviceError, saying where it looked, if NVRTC is missing.
std::string nvrtc_version();
/// The architecture to compile for on a device: "sm_XY" if this NVRTC knows it, else the highest
/// "compute_XY" that it knows and the driver can translate.
std::string nvrtc_arch(int cc_major, int cc_minor);

/// All that decides the result but the text. For cache keys.
std::string nvrtc_cache_tag(const NvrtcOptions& options);

/// Compiles; `log`, if given, receives warnings. Throws CompileError (host_compiler.h).
Binary compile_nvrtc(std::string_view text, std::string_view name, const NvrtcOptions& options,
                     std::string* log = nullptr);

}  // namespace wt::rt
