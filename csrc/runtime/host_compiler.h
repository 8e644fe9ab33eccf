// SPDX-License-Identifier: Apache-2.0
// host_compiler.h: C++ text to a shared object with the machine's own C++ compiler.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/executable.h"

namespace wt::rt {

/// A compiler (the host's or NVRTC) rejected a source. `log()` is all that it printed; place() is
/// the first place that it named, which `#line` makes a place in the user's Python.
class CompileError : public DeviceError {
 public:
  CompileError(ErrorPlace place, std::string message, std::string log, int code = 0)
      : DeviceError(std::move(place), std::move(message), code), log_(std::move(log)) {}
  const std::string& log() const { return log_; }

 private:
  std::string log_;
};

/// Builds a CompileError from a log in the style of GCC, Clang or NVRTC.
CompileError compile_error(std::string_view compiler, std::string_view kernel, std::string log,
                           int code);

struct HostCompilerConfig {
  std::string compiler{};    ///< Path or name to use before all else; empty = search.
  std::string zig_python{};  ///< Python whose `-m ziglang` is the last resort; empty = none.
};

/// A C++ compiler that answered.
struct HostCompiler {
  std::vector<std::string> command{};  ///< {"/usr/bin/c++"} or {"python", "-m", "ziglang", "c++"}.
  std::string version{};               ///< First line of --version.
  bool zig = false;
};

struct HostCompileOptions {
  std::string arch{};                      ///< "x86-64-v3", ...; empty = host_arch().
  bool debug = false;                      ///< -O1 -g instead of -O3.
  std::vector<std::string> extra_flags{};  ///< After all others.
};

/// The compiler for `config`, found once per process and config. Order: config.compiler, $CXX, c++,
/// g++, clang++, ziglang. DeviceError, saying where it looked, if none answers.
const HostCompiler& find_host_compiler(const HostCompilerConfig& config = {});

/// The highest x86-64 level that this processor and system support ("x86-64", "x86-64-v2", -v3,
/// -v4), or the machine's name elsewhere.
WT_API std::string_view host_arch();

/// Whether code for `arch` runs here.
WT_API bool host_runs(std::string_view arch);

/// Sorted names of the instruction set extensions of this processor that matter to generated code.
const std::vector<std::string>& cpu_features();

/// All that decides the result but the text: compiler version, flags and features. For cache keys.
std::string host_cache_tag(const HostCompiler& compiler, const HostCompileOptions& options);

/// Compiles to a shared object. `name` is for messages. Throws CompileError.
Binary compile_host(const HostCompiler& compiler, std::string_view text, std::string_view name,
                    const HostCompileOptions& options = {});

}  // namespace wt::rt
