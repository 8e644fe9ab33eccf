// SPDX-License-Identifier: Apache-2.0
// operand_hints.h: what to write instead where an operator or builtin does not take its operands.
#pragma once

#include <string>
#include <vector>

#include "csrc/codegen/lower/val.h"

namespace wt::lower_detail {

/// A remedy for `name` on these operands. `why` says what the closest row of the table wanted.
std::string operand_hint(const std::string& name, const std::vector<Val>& vals,
                         const std::string& why);

/// For a name of Warp that is not here: what it belongs to; "" for other names.
std::string absent_hint(std::string_view name);

}  // namespace wt::lower_detail
