// SPDX-License-Identifier: Apache-2.0
// diagnostics.cpp: fills in the message of a diagnostic and throws it.
#include "csrc/codegen/lower/diagnostics.h"

#include "csrc/codegen/support/error_table.h"

namespace wt {

std::string_view diagnostic_code(Diagnostic d) {
  return error_table()[static_cast<size_t>(d)].code;
}
std::string_view diagnostic_text(Diagnostic d) {
  return error_table()[static_cast<size_t>(d)].text;
}

void raise(const ast::Unit& unit, Diagnostic d, const Loc& loc,
           std::initializer_list<std::string> fields, std::string hint) {
  std::string message;
  const std::string_view text = diagnostic_text(d);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && i + 2 < text.size() && text[i + 2] == '}') {
      const size_t n = static_cast<size_t>(text[i + 1] - '0');
      if (n < fields.size()) message += fields.begin()[n];
      i += 2;
    } else {
      message += text[i];
    }
  }
  if (hint.empty()) hint = error_table()[static_cast<size_t>(d)].remedy;
  throw KernelError(std::string(diagnostic_code(d)), loc.file ? *loc.file : std::string(), loc.line,
                    loc.col, std::move(message), std::move(hint), unit.source_line(loc));
}

}  // namespace wt
