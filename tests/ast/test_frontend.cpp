// SPDX-License-Identifier: Apache-2.0
// test_frontend.cpp: the front-end layer with two implementations; lowering sees no difference.
#include <gtest/gtest.h>

#include "csrc/codegen/lower/lower.h"
#include "csrc/codegen/support/error.h"
#include "tests/ast/formula_frontend.h"

namespace wt {
namespace {

constexpr std::string_view kFormula =
    "axpy(x: array<f32,1>, a: f32, y: array<f32,1>)\n"
    "i = tid()\n"
    "y[i] = a * sin(x[i]) + (y[i] - 2) / 4.0\n";

constexpr std::string_view kText = R"((unit
  (kernel axpy formula
    (param x array<f32,1>)
    (param a f32)
    (param y array<f32,1>)
    (do
      (assign (name i) (call (builtin tid)))
      (assign (index (name y) (name i))
        (binary add
          (binary mul (name a) (call (builtin sin) (index (name x) (name i))))
          (binary div (binary sub (index (name y) (name i)) (int 2)) (float 4.0))))))))";

/// IR text without the places.
std::string without_places(std::string text) {
  for (size_t at = text.find(" loc("); at != std::string::npos; at = text.find(" loc(")) {
    text.erase(at, text.find(')', at) + 1 - at);
  }
  return text;
}

std::string lowered(const Frontend& frontend, std::string_view source) {
  const auto module = lower(*frontend.parse(source), "axpy");
  ir::verify(*module, "lower");
  return without_places(ir::print(*module));
}

TEST(Frontend, TwoImplementationsGiveTheSameIr) {
  const FormulaFrontend formula;
  const AstTextFrontend text;
  EXPECT_EQ(lowered(formula, kFormula), lowered(text, kText));
}

TEST(Frontend, UnitOfOneIsTextOfTheOther) {
  const auto unit = FormulaFrontend().parse(kFormula);
  const std::string text = ast::print(*unit);
  EXPECT_EQ(ast::print(*ast::default_frontend().parse(text)), text);
  EXPECT_EQ(lowered(FormulaFrontend(), kFormula), lowered(AstTextFrontend(), text));
}

TEST(Frontend, ErrorsCarryThePlace) {
  try {
    FormulaFrontend().parse("k(x: array<f32,1>)\nx[0] = 1 +\n");
    FAIL();
  } catch (const KernelError& e) {
    EXPECT_EQ(e.lineno(), 2);
    EXPECT_EQ(e.col(), 11);
    EXPECT_EQ(e.filename(), "formula");
  }
  try {
    const auto unit = FormulaFrontend().parse("k(x: array<f32,1>)\nx[0] = cosinus(x[0])\n");
    lower(*unit, "k");
    FAIL();
  } catch (const KernelError& e) {
    EXPECT_EQ(e.code(), "WT105");
    EXPECT_EQ(e.lineno(), 2);
    EXPECT_EQ(e.col(), 8);
    EXPECT_NE(std::string(e.what()).find("x[0] = cosinus(x[0])\n           ^"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace wt
