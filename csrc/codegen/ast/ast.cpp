// SPDX-License-Identifier: Apache-2.0
// ast.cpp: names of the node kinds, look-up in a unit.
#include "csrc/codegen/ast/ast.h"

#include <array>

namespace wt::ast {
namespace {

constexpr std::array<std::string_view, 25> kExprNames = {
    "name",    "int",   "float", "bool",    "str",    "none", "const", "type",  "func",
    "builtin", "tuple", "call",  "kw",      "star",   "attr", "index", "slice", "unary",
    "binary",  "and",   "or",    "compare", "ifelse", "fstr", "lambda"};
static_assert(kExprNames.size() == static_cast<size_t>(ExprKind::kLambda) + 1);

constexpr std::array<std::string_view, 12> kStmtNames = {"assign", "annotate", "aug",   "if",
                                                         "while",  "for",      "break", "continue",
                                                         "return", "pass",     "expr",  "assert"};
static_assert(kStmtNames.size() == static_cast<size_t>(StmtKind::kAssert) + 1);

template <class Kind, size_t N>
bool find_name(const std::array<std::string_view, N>& names, std::string_view text, Kind* out) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] != text) continue;
    *out = static_cast<Kind>(i);
    return true;
  }
  return false;
}

}  // namespace

std::string_view to_string(ExprKind kind) { return kExprNames[static_cast<size_t>(kind)]; }
std::string_view to_string(StmtKind kind) { return kStmtNames[static_cast<size_t>(kind)]; }
bool from_string(std::string_view text, ExprKind* out) { return find_name(kExprNames, text, out); }
bool from_string(std::string_view text, StmtKind* out) { return find_name(kStmtNames, text, out); }

const Func* Unit::find(std::string_view id) const {
  for (const Func& f : funcs) {
    if (f.id == id) return &f;
  }
  return nullptr;
}

bool Unit::option(std::string_view name) const {
  const auto it = options.find(std::string(name));
  return it != options.end() && it->second == "1";
}

std::string Unit::source_line(const Loc& loc) const {
  if (!loc.file) return {};
  const auto file = files.find(*loc.file);
  if (file == files.end()) return {};
  const auto line = file->second.find(loc.line);
  return line == file->second.end() ? std::string() : line->second;
}

}  // namespace wt::ast
