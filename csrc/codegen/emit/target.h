// SPDX-License-Identifier: Apache-2.0
// target.h: a target turns IR into source text and source text into a binary.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt {

/// Everything a target needs to build one binary. `entries` are the C names of its kernels.
struct Source {
  std::string text;
  std::vector<std::string> entries;
};

struct Binary {
  std::vector<char> bytes;
  std::string log;
};

/// emit() is pure: same module, same text, no compiler and no device needed.
class Target {
 public:
  virtual ~Target() = default;
  virtual std::string_view name() const = 0;      ///< "cpu", "cuda"
  virtual std::string cache_tag() const = 0;      ///< compiler version, flags, architecture
  virtual Source emit(const ir::Module& m) const = 0;
  virtual Binary compile(const Source& s) const = 0;
};

/// Byte layout of a kernel's argument block after its WtLaunch head (emit/abi.h).
struct ArgLayout {
  std::vector<size_t> offsets;  ///< of each parameter, from the start of the block
  size_t size = 0;
};
ArgLayout arg_layout(const ir::Func& kernel);

/// C++ text of the module's kernels in the dialect of "cpu" or "cuda".
Source emit_cxx(const ir::Module& m, std::string_view dialect);

}  // namespace wt
