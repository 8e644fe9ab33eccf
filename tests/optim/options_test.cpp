// SPDX-License-Identifier: Apache-2.0
// options_test.cpp: every option rejects values outside its rule and says which.
#include "optim/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>

namespace wt::optim {
namespace {

using ::testing::HasSubstr;

/// Sets one numeric option after the other to values just outside its rule and wants the complaint.
template <typename Options, typename Visit>
void expect_every_rule_checked(Visit visit) {
  int numeric = 0;
  Options counter;
  visit(counter, [&](std::string_view, auto&, auto... rule) { numeric += sizeof...(rule); });
  ASSERT_GT(numeric, 5);
  for (int wanted = 0; wanted < numeric; ++wanted) {
    Options options;
    int index = 0;
    std::string name;
    std::string rule_text;
    visit(options, [&](std::string_view option, auto& member, auto... rules) {
      if constexpr (sizeof...(rules) == 1) {
        const OptionRule rule = std::get<0>(std::tuple(rules...));
        if (index++ != wanted) return;
        name = option;
        rule_text = rule.text;
        using T = std::remove_reference_t<decltype(member)>;
        member = std::is_same_v<T, double> ? static_cast<T>(std::nan("")) : static_cast<T>(-1);
      }
    });
    std::string error;
    EXPECT_FALSE(options.is_valid(&error)) << name;
    EXPECT_THAT(error, HasSubstr("option " + name + " = "));
    EXPECT_THAT(error, HasSubstr(rule_text));
  }
}

TEST(Options, DefaultsAreValid) {
  std::string error = "old text";
  EXPECT_TRUE(MinimizeOptions{}.is_valid(&error));
  EXPECT_EQ(error, "");
  EXPECT_TRUE(LeastSquaresOptions{}.is_valid(&error));
  EXPECT_TRUE(LeastSquaresOptions{}.is_valid(nullptr));
}

TEST(Options, EveryMinimizeRuleIsChecked) {
  expect_every_rule_checked<MinimizeOptions>(
      [](MinimizeOptions& options, auto visitor) { visit_minimize_options(options, visitor); });
}

TEST(Options, EveryLeastSquaresRuleIsChecked) {
  expect_every_rule_checked<LeastSquaresOptions>([](LeastSquaresOptions& options, auto visitor) {
    visit_least_squares_options(options, visitor);
  });
}

TEST(Options, BoundsAreOpenOrClosedAsTheySay) {
  EXPECT_TRUE(kNotNegative.holds(0));
  EXPECT_FALSE(kNotNegative.holds(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(kPositive.holds(0));
  EXPECT_TRUE(kAtLeastOne.holds(1));
  EXPECT_FALSE(kAboveOne.holds(1));
  EXPECT_FALSE(kInsideUnit.holds(0));
  EXPECT_FALSE(kInsideUnit.holds(1));
  EXPECT_TRUE(kBelowOne.holds(0));
  EXPECT_FALSE(kBelowOne.holds(1));
}

TEST(Options, MessageNamesOptionValueAndRule) {
  MinimizeOptions options;
  options.line_search.curvature = 1.5;
  std::string error;
  EXPECT_FALSE(options.is_valid(&error));
  EXPECT_EQ(error, "option curvature = 1.5 must be > 0 and < 1");
}

TEST(Options, CurvatureMustExceedSufficientDecrease) {
  MinimizeOptions options;
  options.line_search.sufficient_decrease = 0.5;
  options.line_search.curvature = 0.4;
  std::string error;
  EXPECT_FALSE(options.is_valid(&error));
  EXPECT_EQ(error, "option curvature = 0.4 must be > sufficient_decrease = 0.5");
}

TEST(Options, NamesOfEnumerationsRoundTrip) {
  LinearSolverKind kind = LinearSolverKind::kQr;
  for (const char* name : {"qr", "cholesky", "cg"}) {
    ASSERT_TRUE(parse_linear_solver(name, &kind));
    EXPECT_EQ(linear_solver_name(kind), name);
  }
  EXPECT_FALSE(parse_linear_solver("lu", &kind));
  LeastSquaresMethod method = LeastSquaresMethod::kLevenbergMarquardt;
  EXPECT_TRUE(parse_method("gn", &method));
  EXPECT_EQ(method_name(method), "gauss_newton");
  EXPECT_TRUE(parse_method("lm", &method));
  EXPECT_EQ(method_name(method), "levenberg_marquardt");
  EXPECT_FALSE(parse_method("newton", &method));
}

}  // namespace
}  // namespace wt::optim
