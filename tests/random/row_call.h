// SPDX-License-Identifier: Apache-2.0
// row_call.h: appends a call of a builtin row with operands from inside its domain.
#pragma once

#include <functional>

#include "csrc/codegen/ir/builder.h"
#include "tests/random/bound_rows.h"

namespace wt::test {

/// Where operands come from.
struct RowSource {
  ir::Type real = nullptr;              ///< float type of the program
  std::function<ir::Value*()> number;   ///< a float of that type
  std::function<ir::Value*()> natural;  ///< an i32 >= 0
  std::function<int(int)> pick;         ///< 0 .. n-1
  std::function<double(double, double)> uniform;
  bool squash = true;  ///< the results as a number in [-1, 1]
};

/// The results as one number. Operands stay in the row's domain and away from singular
/// matrices; they depend on `number` where the row has a derivative that finite differences see.
ir::Value* call_row(ir::Builder& b, const BoundRow& row, const RowSource& source);

}  // namespace wt::test
