// SPDX-License-Identifier: Apache-2.0
// formula_frontend.h: a second front end, for tests: kernels written as formulas.
//   axpy(x: array<f32,1>, a: f32, y: array<f32,1>)
//   i = tid()
//   y[i] = a * x[i] + y[i]
// One kernel a text; statements are assignments; operators + - * / with brackets, calls of
// builtins, subscripts and numbers.
#pragma once

#include "csrc/codegen/ast/frontend.h"

namespace wt {

class FormulaFrontend final : public Frontend {
 public:
  std::string_view name() const override { return "formula"; }
  std::unique_ptr<ast::Unit> parse(std::string_view source) const override;
};

}  // namespace wt
