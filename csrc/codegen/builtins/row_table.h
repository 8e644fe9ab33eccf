// SPDX-License-Identifier: Apache-2.0
// row_table.h: the parsed columns of a row.
#pragma once

#include "csrc/codegen/builtins/rule_parser.h"
#include "csrc/codegen/builtins/signature.h"

namespace wt::builtins {

struct RowInfo {
  const BuiltinDef* def = nullptr;
  Signature signature;
  Rule vjp;
  Rule jvp;
  Rule expand;

  /// Throws InternalError if no operand has that name.
  size_t param_index(std::string_view name) const;
};

const RowInfo& row_info(const BuiltinDef& def);

}  // namespace wt::builtins
