// SPDX-License-Identifier: Apache-2.0
// loc.h: a place in the user's Python source.
#pragma once

#include <string>
#include <string_view>

namespace wt {

/// Lines and columns count from 1; line 0 means unknown. `end_col` is one past the last column.
/// `file` is interned: equal names are equal pointers, and it lives as long as the process.
struct Loc {
  const std::string* file = nullptr;
  int line = 0;
  int col = 0;
  int end_col = 0;

  bool known() const { return line > 0; }
  bool operator==(const Loc&) const = default;
};

/// The one copy of `name` in the process. Thread-safe.
const std::string* intern_file(std::string_view name);

/// "file.py:12:5", or "?" when unknown.
std::string to_string(const Loc& loc);

}  // namespace wt
