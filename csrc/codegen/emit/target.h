// SPDX-License-Identifier: Apache-2.0
// target.h: source text from IR. Compiling and loading it is the runtime's (runtime/target.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "csrc/codegen/ir/ir.h"
#include "csrc/codegen/support/api.h"

namespace wt {

/// What kernels ask of the compiler, by attributes of their module of the same names.
struct CompileOptions {
  bool fast_math = false;
  bool lineinfo = false;
  int max_registers = 0;  ///< of a CUDA thread; 0: as many as it likes
  bool foreign = false;   ///< holds native text, which looks at memory as it likes

  bool operator==(const CompileOptions&) const = default;
  std::string text() const;  ///< for cache keys; "" if all are as above
};
CompileOptions compile_options(const ir::Module& m);

/// Everything needed to build one binary. `entries` are the C names of its kernels.
struct Source {
  std::string text;
  std::vector<std::string> entries;
  CompileOptions options{};
};

/// Byte layout of a kernel's argument block, WtLaunch head included (emit/abi.h).
struct ArgLayout {
  std::vector<size_t> offsets;  ///< of each parameter, from the start of the block
  size_t size = 0;
};
ArgLayout arg_layout(const ir::Func& kernel);

/// C++ text of the module's kernels in the dialect of "cpu" or "cuda". Pure: same module, same
/// text; no compiler and no device needed.
WT_API Source emit_cxx(const ir::Module& m, std::string_view dialect);

}  // namespace wt
