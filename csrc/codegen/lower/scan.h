// SPDX-License-Identifier: Apache-2.0
// scan.h: questions about statements that need no types.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "csrc/codegen/ast/ast.h"

namespace wt::lower_detail {

/// Ways out of a statement, other than its end. break and continue count for the loop around it.
struct Exits {
  bool breaks = false, continues = false, returns = false;
  bool any() const { return breaks || continues || returns; }
};

Exits exits_of(const ast::Stmt& s);
Exits exits_of(std::span<const ast::Stmt> body);
/// True if the end of the body is never reached.
bool always_exits(std::span<const ast::Stmt> body);
/// Writing a component counts this much, so that it can be told from assigning the whole.
constexpr int kPartWritten = 1 << 16;
/// Adds how often each variable is assigned; an assignment that reads the variable counts twice.
void count_assignments(const ast::Unit& unit, std::span<const ast::Stmt> body,
                       const std::string& prefix, std::map<std::string, int>* counts);
/// Variables that the body assigns.
void assigned_names(std::span<const ast::Stmt> body, std::set<std::string>* names);
/// True if a return is anywhere but at the end of the function.
bool returns_early(std::span<const ast::Stmt> body);

}  // namespace wt::lower_detail
