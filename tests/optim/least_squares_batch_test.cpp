// SPDX-License-Identifier: Apache-2.0
// least_squares_batch_test.cpp: many problems by one batched function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "optim/minimizer.h"
#include "standard_problems.h"

namespace wt::optim::testing {
namespace {

using ::testing::HasSubstr;

/// One standard problem, B times.
class Batched : public BatchResidualFunction {
 public:
  Batched(const StandardProblem& problem, Index batch) : one_(problem), batch_(batch) {}
  Index batch_size() const override { return batch_; }
  Index num_parameters() const override { return one_.num_parameters(); }
  Index num_residuals() const override { return one_.num_residuals(); }
  bool evaluate(const Matrix& points, Matrix* residuals, Matrix* jacobians) override {
    calls += 1;
    Vector r(num_residuals());
    Matrix j(num_residuals(), num_parameters());
    for (Index b = 0; b < points.cols(); ++b) {
      one_.evaluate(points.col(b), &r, &j);
      if (b == poisoned) r.setConstant(std::numeric_limits<double>::quiet_NaN());
      if (residuals != nullptr) residuals->col(b) = r;
      if (jacobians == nullptr) continue;
      for (Index i = 0; i < j.rows(); ++i) {
        jacobians->col(b).segment(i * j.cols(), j.cols()) = j.row(i);
      }
    }
    return !fails;
  }
  int calls = 0;
  Index poisoned = -1;
  bool fails = false;

 private:
  StandardResiduals one_;
  Index batch_;
};

Matrix starts_around(const Vector& start, Index batch) {
  std::srand(17);
  Matrix x0 = start.replicate(1, batch);
  x0.rightCols(batch - 1) += 0.3 * Matrix::Random(start.size(), batch - 1);
  return x0;
}

TEST(LeastSquaresBatch, EveryProblemTakesTheStepsItWouldTakeAlone) {
  for (const char* name : {"rosenbrock", "bard", "wood"}) {
    const StandardProblem& problem = standard_problem(name);
    const Matrix x0 = starts_around(problem.start, 8);
    Batched function(problem, 8);
    const std::vector<Summary> batch = least_squares_batch(&function, x0);
    ASSERT_EQ(batch.size(), 8u);
    int most = 0;
    for (Index b = 0; b < 8; ++b) {
      StandardResiduals residuals(problem);
      const Summary alone = least_squares(&residuals, x0.col(b));
      const Summary& together = batch[static_cast<size_t>(b)];
      EXPECT_EQ(together.x, alone.x) << name << " " << b;
      EXPECT_EQ(together.termination, alone.termination);
      EXPECT_EQ(together.iterations, alone.iterations);
      EXPECT_EQ(together.function_evaluations, alone.function_evaluations);
      EXPECT_EQ(together.derivative_evaluations, alone.derivative_evaluations);
      most = std::max(most, alone.iterations);
    }
    // At most one call for residuals and one for Jacobians per pass, plus the start.
    EXPECT_LE(function.calls, 2 * most + 1);
  }
}

TEST(LeastSquaresBatch, OneUndefinedProblemLeavesTheOthersAlone) {
  const StandardProblem& problem = standard_problem("rosenbrock");
  Batched function(problem, 3);
  function.poisoned = 1;
  const std::vector<Summary> batch = least_squares_batch(&function, problem.start.replicate(1, 3));
  EXPECT_TRUE(batch[0].converged());
  EXPECT_TRUE(batch[2].converged());
  EXPECT_EQ(batch[1].termination, Termination::kEvaluationFailed);
  EXPECT_THAT(batch[1].message, HasSubstr("residual[0] is nan"));
  EXPECT_EQ(batch[1].x, problem.start);
}

TEST(LeastSquaresBatch, FailureOfTheFunctionAndBadArguments) {
  const StandardProblem& problem = standard_problem("rosenbrock");
  Batched function(problem, 2);
  function.fails = true;
  for (const Summary& summary : least_squares_batch(&function, problem.start.replicate(1, 2))) {
    EXPECT_EQ(summary.termination, Termination::kEvaluationFailed);
    EXPECT_EQ(summary.x, problem.start);
  }
  const std::vector<Summary> wrong = least_squares_batch(&function, problem.start.replicate(1, 3));
  ASSERT_EQ(wrong.size(), 3u);
  EXPECT_EQ(wrong[2].termination, Termination::kInvalidOptions);
  EXPECT_EQ(wrong[2].message, "x0 holds 3 problems, the function 2");
}

}  // namespace
}  // namespace wt::optim::testing
