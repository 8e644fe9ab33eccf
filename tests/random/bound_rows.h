// SPDX-License-Identifier: Apache-2.0
// bound_rows.h: rows of the builtin table with the variables of their signatures bound to types.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "csrc/codegen/builtins/registry.h"

namespace wt::test {

/// Variables to names of types or sizes: {"F": "f64", "N": "3"}. "F" also stands for F1, F2, ...
using Choice = std::map<std::string, std::string, std::less<>>;

struct BoundRow {
  const BuiltinDef* def = nullptr;
  std::vector<ir::Type> operands, results;
};

/// False if a variable has no choice or may not stand for it, or if a call with these types finds
/// another row. Rows that take strings are left out.
bool bind_row(const BuiltinDef& def, const Choice& c, BoundRow* out);

/// Calls fn for every row that takes no array and every choice of its sizes among those given, with
/// its floats of that type.
void for_each_bound_row(const std::string& floats, const std::vector<int>& sizes,
                        const std::function<void(const BoundRow&)>& fn);

/// Calls fn for every row that takes an array, of f32, f64 and i32.
void for_each_array_row(const std::function<void(const BoundRow&)>& fn);

/// "quat_rotate(quat<f64>, vec<3,f64>)".
std::string row_key(std::string_view name, const std::vector<ir::Type>& operands);

}  // namespace wt::test
