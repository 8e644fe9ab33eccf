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

/// Everything needed to build one binary. `entries` are the C names of its kernels.
struct Source {
  std::string text;
  std::vector<std::string> entries;
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
