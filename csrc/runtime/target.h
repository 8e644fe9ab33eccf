// SPDX-License-Identifier: Apache-2.0
// target.h: a target turns IR into source text and the text into a binary for some devices.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "csrc/codegen/emit/target.h"
#include "csrc/codegen/support/api.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/host_compiler.h"

namespace wt::rt {

class DiskCache;

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view name() const = 0;  ///< "cpu", "cuda"
  virtual std::string cache_tag() const = 0;  ///< compiler version, flags, architecture
  virtual BinaryKind binary_kind() const = 0;
  virtual std::string arch() const = 0;  ///< of the binaries it makes
  /// Pure: needs no compiler and no device.
  virtual Source emit(const ir::Module& m) const { return emit_cxx(m, name()); }
  /// Throws DeviceError with the compiler's text, KernelError when that names a Python line.
  virtual Binary compile(const Source& source, const std::string& label) const = 0;
};

/// How binaries are built in this process.
struct BuildConfig {
  HostCompilerConfig host;
  std::string cache_dir;   ///< of the disk cache; empty = DiskCache::default_folder()
  std::string source_dir;  ///< emitted sources are also written here; empty = nowhere
  std::string ptx_target;  ///< "compute_80": build PTX for it instead of a cubin; empty = cubin
  bool debug = false;      ///< lines for debuggers, asserts of kernels on
};
WT_API void set_build_config(BuildConfig config);
WT_API BuildConfig build_config();

/// What kernels' own options ask of NVRTC.
WT_API std::vector<std::string> nvrtc_flags(const CompileOptions& asked);

/// The target whose binaries the device loads.
WT_API std::unique_ptr<Target> target_of(Device& device);
/// "cpu", or "cuda" for an architecture: "sm_90" makes cubins, "compute_90" PTX. Needs no device.
WT_API std::unique_ptr<Target> make_target(std::string_view name, std::string_view arch = {});

/// The disk cache of the current configuration.
WT_API std::shared_ptr<DiskCache> disk_cache();
/// emit, then the disk cache or compile, then load. Two calls for the same text share one result.
WT_API std::shared_ptr<Executable> build(const ir::Module& m, const std::string& label,
                                         Device& device);

}  // namespace wt::rt
