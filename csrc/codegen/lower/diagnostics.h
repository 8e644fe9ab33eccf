// SPDX-License-Identifier: Apache-2.0
// diagnostics.h: the table of KernelErrors (support/diagnostics.inc) and raising one.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "csrc/codegen/ast/ast.h"

namespace wt {

enum class Diagnostic : uint8_t {
#define WT_DIAGNOSTIC(code, name, text, remedy) name,
#include "csrc/codegen/support/diagnostics.inc"
#undef WT_DIAGNOSTIC
};

/// "WT101" and the message with {0}, {1}, ... in it.
std::string_view diagnostic_code(Diagnostic d);
std::string_view diagnostic_text(Diagnostic d);

/// Throws KernelError at `loc`, with the source line if the unit carries it. Without a hint it
/// says the remedy of the table.
[[noreturn]] void raise(const ast::Unit& unit, Diagnostic d, const Loc& loc,
                        std::initializer_list<std::string> fields, std::string hint = {});

}  // namespace wt
