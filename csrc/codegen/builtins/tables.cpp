// SPDX-License-Identifier: Apache-2.0
// tables.cpp: the list of tables. A new table is one line here and one in tables.h.
#include "csrc/codegen/builtins/tables.h"

namespace wt::builtins {

std::vector<std::span<const BuiltinDef>> tables() {
  return {operator_rows(), scalar_rows(), special_rows(),  vector_rows(), matrix_rows(),
          linear_rows(),   quat_rows(),   rotation_rows(), motion_rows(), transform_rows(),
          complex_rows(),  random_rows(), sampling_rows(), noise_rows(),  search_rows()};
}

}  // namespace wt::builtins
