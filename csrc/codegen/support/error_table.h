// SPDX-License-Identifier: Apache-2.0
// error_table.h: the table of all error codes (diagnostics.inc), and places that name a code.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "csrc/codegen/support/error.h"

namespace wt {

struct ErrorRow {
  std::string_view code, name, text, remedy;
};

/// All codes, in the order of diagnostics.inc.
WT_API std::span<const ErrorRow> error_table();

/// The row of a code; one of empty texts if there is none.
WT_API const ErrorRow& error_row(std::string_view code);

/// An error with a code and no line: with the remedy of the table unless one is given.
WT_API ErrorPlace coded(std::string_view code, std::string hint = {});

}  // namespace wt
