// SPDX-License-Identifier: Apache-2.0
// rule_parser.h: syntax trees of the `vjp` and `jvp` columns.
//
//   rule      = statement { ";" statement }
//   statement = name "=" expr        a name for later statements
//             | name "+=" expr       contribution to an operand (vjp) or a result (jvp)
//             | expr                 jvp of a builtin with one result
//   expr      = sums, products, unary minus, comparisons, numbers, names, f(expr, ...),
//               x[1] and m[0, 2] with constant indices
#pragma once

#include <string>
#include <vector>

#include "csrc/codegen/builtins/builtin_def.h"

namespace wt::builtins {

struct RuleExpr {
  enum class Kind : uint8_t { kNumber, kName, kCall, kIndex };
  Kind kind = Kind::kNumber;
  double number = 0;
  std::string name;            ///< of a name, or of the builtin called ("add", "neg", "lt", ...)
  std::vector<RuleExpr> args;  ///< of a call; the indexed expression of an index
  std::vector<int> indices;
};

struct RuleStatement {
  std::string target;  ///< empty for a bare expression
  bool accumulate = false;
  RuleExpr value;
};

using Rule = std::vector<RuleStatement>;

/// Throws InternalError naming the row and the column. Empty text gives an empty rule.
Rule parse_rule(const BuiltinDef& def, std::string_view text);

}  // namespace wt::builtins
