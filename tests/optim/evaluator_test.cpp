// SPDX-License-Identifier: Apache-2.0
// evaluator_test.cpp: counts, cache and detection of values that are not finite.
#include "optim/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "fakes.h"

namespace wt::optim::testing {
namespace {

using ::testing::HasSubstr;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(ObjectiveEvaluator, LastPointIsFree) {
  FakeObjective objective = diagonal_quadratic(Vector::Ones(2), Vector::Zero(2));
  ObjectiveEvaluator evaluator(&objective);
  double value = 0;
  Vector gradient;
  const Vector a = Vector::Constant(2, 3.0);
  ASSERT_TRUE(evaluator.evaluate(a, &value, &gradient));
  ASSERT_TRUE(evaluator.evaluate(a, &value, &gradient));
  EXPECT_EQ(objective.calls, 1);
  EXPECT_EQ(evaluator.counts().functions, 1);
  EXPECT_EQ(value, 9.0);
  EXPECT_EQ(gradient, a);
  ASSERT_TRUE(evaluator.evaluate(2 * a, &value, &gradient));
  ASSERT_TRUE(evaluator.evaluate(a, &value, &gradient));
  EXPECT_EQ(objective.calls, 3);
  EXPECT_EQ(value, 9.0);
}

TEST(ObjectiveEvaluator, NamesTheEntryThatIsNotFinite) {
  FakeObjective objective(3, [](const Vector&, double* value, Vector* gradient) {
    *value = 1;
    *gradient << 0, kNan, 0;
    return true;
  });
  ObjectiveEvaluator evaluator(&objective);
  double value = 0;
  Vector gradient;
  EXPECT_FALSE(evaluator.evaluate(Vector::Zero(3), &value, &gradient));
  EXPECT_EQ(evaluator.problem(), "gradient[1] is nan");
  // A failed point is not cached as a good one.
  EXPECT_FALSE(evaluator.evaluate(Vector::Zero(3), &value, &gradient));
  EXPECT_EQ(objective.calls, 2);
}

TEST(ObjectiveEvaluator, ReportsInfiniteValueAndRefusal) {
  bool defined = true;
  FakeObjective objective(1, [&](const Vector&, double* value, Vector* gradient) {
    *value = std::numeric_limits<double>::infinity();
    gradient->setZero();
    return defined;
  });
  ObjectiveEvaluator evaluator(&objective);
  double value = 0;
  Vector gradient;
  EXPECT_FALSE(evaluator.evaluate(Vector::Zero(1), &value, &gradient));
  EXPECT_EQ(evaluator.problem(), "the objective is inf");
  defined = false;
  EXPECT_FALSE(evaluator.evaluate(Vector::Zero(1), &value, &gradient));
  EXPECT_THAT(evaluator.problem(), HasSubstr("undefined"));
}

TEST(ObjectiveEvaluator, ExceptionsPassAndTimeIsKept) {
  FakeObjective objective(1, [](const Vector&, double*, Vector*) -> bool {
    throw std::runtime_error("from the user");
  });
  ObjectiveEvaluator evaluator(&objective);
  double value = 0;
  Vector gradient;
  EXPECT_THROW(evaluator.evaluate(Vector::Zero(1), &value, &gradient), std::runtime_error);
  EXPECT_GT(evaluator.counts().seconds, 0);
}

TEST(ResidualEvaluator, CountsApartAndNamesJacobianEntry) {
  FakeResiduals function(2, 3, [](const Vector&, Vector* r, Matrix* j) {
    if (r != nullptr) r->setZero();
    if (j != nullptr) {
      j->setZero();
      (*j)(2, 1) = kNan;
    }
    return true;
  });
  ResidualEvaluator evaluator(&function);
  Vector residuals;
  Matrix jacobian;
  EXPECT_TRUE(evaluator.residuals(Vector::Zero(2), &residuals));
  EXPECT_EQ(residuals.size(), 3);
  EXPECT_FALSE(evaluator.jacobian(Vector::Zero(2), &jacobian));
  EXPECT_EQ(evaluator.problem(), "jacobian[2, 1] is nan");
  EXPECT_EQ(evaluator.counts().functions, 1);
  EXPECT_EQ(evaluator.counts().derivatives, 1);
}

}  // namespace
}  // namespace wt::optim::testing
