// SPDX-License-Identifier: Apache-2.0
// gradient_check_test.cpp: right derivatives pass, a planted error is found and named.
#include "optim/gradient_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fakes.h"
#include "standard_problems.h"

namespace wt::optim::testing {
namespace {

using ::testing::HasSubstr;

TEST(GradientCheck, StandardProblemsPass) {
  for (const StandardProblem& problem : standard_problems()) {
    StandardResiduals residuals(problem);
    SumOfSquares objective(problem);
    const Vector x = problem.start + Vector::Constant(problem.start.size(), 0.01);
    const GradientCheckReport jacobian = check_jacobian(&residuals, x);
    EXPECT_TRUE(jacobian.passed) << problem.name << ": " << jacobian.text;
    const GradientCheckReport gradient = check_gradient(&objective, x);
    EXPECT_TRUE(gradient.passed) << problem.name << ": " << gradient.text;
  }
}

TEST(GradientCheck, NamesTheWrongEntry) {
  FakeResiduals function(2, 3, [](const Vector& x, Vector* r, Matrix* j) {
    if (r != nullptr) *r << x[0] * x[1], std::sin(x[0]), x[1] * x[1];
    if (j != nullptr) *j << x[1], x[0], -std::cos(x[0]), 0, 0, 2 * x[1];
    return true;
  });
  const Vector x = Vector::Constant(2, 0.7);
  const GradientCheckReport report = check_jacobian(&function, x);
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.row, 1);
  EXPECT_EQ(report.parameter, 0);
  EXPECT_NEAR(report.numeric, std::cos(0.7), 1e-9);
  EXPECT_NEAR(report.max_relative_error, 2.0, 1e-6);
  EXPECT_THAT(report.text, HasSubstr("parameter 0 of output 1"));
}

TEST(GradientCheck, FailsBesideUndefinedPoints) {
  FakeObjective objective(1, [](const Vector& x, double* value, Vector* gradient) {
    *value = std::sqrt(x[0]);
    if (gradient != nullptr) (*gradient)[0] = 0.5 / std::sqrt(x[0]);
    return x[0] > 0;
  });
  EXPECT_TRUE(check_gradient(&objective, Vector::Constant(1, 2.0)).passed);
  const GradientCheckReport report = check_gradient(&objective, Vector::Constant(1, 1e-9));
  EXPECT_FALSE(report.passed);
  EXPECT_THAT(report.text, HasSubstr("undefined"));
}

}  // namespace
}  // namespace wt::optim::testing
