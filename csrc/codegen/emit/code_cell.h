// SPDX-License-Identifier: Apache-2.0
// code_cell.h: expands the `code` column of a builtin row into C++ on scalar variables.
//
//   {x}          operand; with a composite result and no index, its component at the same place
//                (a scalar operand is used for every component)
//   {x}[1] {x}[i,k+3]   one component of an operand
//   {F} {N}      C++ type or size bound to a variable of the signature; {R} type of the result's
//                components, {bits} its width less one once promoted: 31 or 63
//   {U} {W}      for wrapping integer arithmetic, {W}({U}({x}) + {U}({y})): the unsigned type and
//                {R}; nothing at all for floats
//   {m} {f}      "__builtin_" on CPU; "f" for 32-bit and narrower floats: {m}sin{f}({x})
//   a; b; c      one expression per result component (or per scalar result)
//   [i,j] e      e for every row i and column j of the result; {i} is the index as a number
//   sum(k<N, e)  e0 + e1 + ... in this order; all, any, min and max likewise
//   t := e; ...  a temporary of type {R}, used as {t}; "t := i32: e" names the type
//   {r0} {r1}    a scalar result as a variable: the text is then a statement that sets it
//   {&x}         operand as a C array of its components
//   {&r} {&r1}   the first, or another, result as a C array: the text is then a statement too
//   {name:S}     the IR name of the type bound to S, such as f16, as part of an identifier
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "csrc/codegen/builtins/registry.h"

namespace wt::emit {

struct CellOperand {
  std::string name;
  ir::Type type;
  std::vector<std::string> parts;  ///< variables or literals, one a component
};

struct Cell {
  const BuiltinDef* def = nullptr;
  bool cuda = false;
  std::vector<CellOperand> operands;
  std::vector<builtins::Binding> bindings;
  std::vector<ir::Type> results;
  std::function<std::string(std::string_view)> fresh;  ///< makes a unique variable name
};

struct CellText {
  std::vector<std::string> statements;            ///< to be written first
  std::vector<std::vector<std::string>> results;  ///< one expression a component
};

CellText expand_cell(const Cell& cell);

}  // namespace wt::emit
