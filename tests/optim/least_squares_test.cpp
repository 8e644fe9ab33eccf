// SPDX-License-Identifier: Apache-2.0
// least_squares_test.cpp: Levenberg-Marquardt, Gauss-Newton and their loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <limits>

#include "fakes.h"
#include "optim/least_squares_solver.h"
#include "optim/minimizer.h"
#include "standard_problems.h"

namespace wt::optim::testing {
namespace {

using ::testing::HasSubstr;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class StandardLeastSquares : public ::testing::TestWithParam<StandardProblem> {};

TEST_P(StandardLeastSquares, LevenbergMarquardtSolvesIt) {
  StandardResiduals residuals(GetParam());
  const Summary summary = least_squares(&residuals, GetParam().start);
  EXPECT_TRUE(is_solved(GetParam(), 2 * summary.objective)) << summary.full_report();
  EXPECT_TRUE(summary.converged()) << summary.full_report();
  Vector r(residuals.num_residuals());
  residuals.evaluate(summary.x, &r, nullptr);
  EXPECT_EQ(summary.objective, 0.5 * r.squaredNorm());
}

TEST_P(StandardLeastSquares, CholeskySolvesIt) {
  // Brown and Dennis: the normal equations resolve the last digits less well; four digits stand.
  StandardResiduals residuals(GetParam());
  LeastSquaresOptions options;
  options.linear_solver = LinearSolverKind::kCholesky;
  const Summary summary = least_squares(&residuals, GetParam().start, options);
  EXPECT_TRUE(is_solved(GetParam(), 2 * summary.objective)) << summary.full_report();
}

INSTANTIATE_TEST_SUITE_P(Problems, StandardLeastSquares, ::testing::ValuesIn(standard_problems()),
                         [](const auto& info) { return info.param.name; });

TEST(LeastSquares, ConjugateGradientsSolveTheWellConditionedProblems) {
  LeastSquaresOptions options;
  options.linear_solver = LinearSolverKind::kConjugateGradient;
  for (const char* name : {"rosenbrock", "beale", "bard", "box_3d", "wood", "powell_singular",
                           "extended_rosenbrock", "broyden_tridiagonal"}) {
    StandardResiduals residuals(standard_problem(name));
    const Summary summary = least_squares(&residuals, standard_problem(name).start, options);
    EXPECT_TRUE(is_solved(standard_problem(name), 2 * summary.objective)) << name << "\n"
                                                                          << summary.full_report();
  }
}

TEST(LeastSquares, GaussNewtonSolvesTheZeroResidualProblems) {
  LeastSquaresOptions options;
  options.method = LeastSquaresMethod::kGaussNewton;
  for (const char* name : {"rosenbrock", "beale", "bard", "box_3d", "helical_valley",
                           "powell_singular", "extended_rosenbrock", "broyden_tridiagonal"}) {
    StandardResiduals residuals(standard_problem(name));
    const Summary summary = least_squares(&residuals, standard_problem(name).start, options);
    EXPECT_EQ(summary.method, "gauss_newton");
    EXPECT_TRUE(is_solved(standard_problem(name), 2 * summary.objective)) << name << "\n"
                                                                          << summary.full_report();
  }
}

TEST(LeastSquares, LinearProblemNeedsOneStep) {
  std::srand(11);
  const Matrix a = Matrix::Random(12, 5);
  const Vector b = Vector::Random(12);
  const Vector exact = (a.transpose() * a).inverse() * a.transpose() * b;
  for (LeastSquaresMethod method :
       {LeastSquaresMethod::kLevenbergMarquardt, LeastSquaresMethod::kGaussNewton}) {
    FakeResiduals function = linear_residuals(a, b);
    LeastSquaresOptions options;
    options.method = method;
    const Summary summary = least_squares(&function, Vector::Ones(5), options);
    EXPECT_TRUE(summary.converged());
    EXPECT_LT(summary.gradient_norm, 1e-12);
    EXPECT_NEAR(summary.objective, 0.5 * (a * exact - b).squaredNorm(), 1e-14);
    EXPECT_LE(summary.iterations, 2);
  }
}

TEST(LeastSquares, SingularJacobianEverywhere) {
  // r depends on x0 + x1 alone and the third parameter has no effect at all.
  FakeResiduals function(3, 2, [](const Vector& x, Vector* r, Matrix* j) {
    const double s = x[0] + x[1];
    if (r != nullptr) *r << s * s - 4, std::sin(s - 2);
    if (j != nullptr) *j << 2 * s, 2 * s, 0, std::cos(s - 2), std::cos(s - 2), 0;
    return true;
  });
  for (LinearSolverKind kind :
       {LinearSolverKind::kQr, LinearSolverKind::kCholesky, LinearSolverKind::kConjugateGradient}) {
    LeastSquaresOptions options;
    options.linear_solver = kind;
    const Vector start = Vector::Constant(3, 1.7);
    const Summary summary = least_squares(&function, start, options);
    EXPECT_TRUE(summary.converged()) << linear_solver_name(kind) << summary.full_report();
    EXPECT_LT(summary.objective, 1e-16) << linear_solver_name(kind) << summary.full_report();
    EXPECT_EQ(summary.x[2], 1.7);  // nothing moves a parameter without effect
    // QR takes the shortest steps, along (1, 1). The normal equations may drift along the null
    // space, which costs nothing, but must not run away in it.
    EXPECT_NEAR(summary.x[0], summary.x[1], kind == LinearSolverKind::kQr ? 1e-12 : 0.1);
  }
}

TEST(LeastSquares, FewerResidualsThanParametersTakesTheShortestStep) {
  Matrix a(1, 3);
  a << 1, 2, 2;
  FakeResiduals function = linear_residuals(a, Vector::Constant(1, 9.0));
  LeastSquaresOptions options;
  options.method = LeastSquaresMethod::kGaussNewton;
  Summary summary = least_squares(&function, Vector::Zero(3), options);
  EXPECT_LT(summary.objective, 1e-28);
  EXPECT_LT((summary.x - Vector(a.transpose())).norm(), 1e-13);  // A'(AA')^-1 b = (1, 2, 2)
  summary = least_squares(&function, Vector::Zero(3));
  EXPECT_LT(summary.objective, 1e-28) << summary.full_report();
}

TEST(LeastSquares, StartAtTheSolution) {
  FakeResiduals function = linear_residuals(Matrix::Identity(2, 2), Vector::Ones(2));
  const Summary summary = least_squares(&function, Vector::Ones(2));
  EXPECT_EQ(summary.termination, Termination::kGradientTolerance);
  EXPECT_EQ(summary.objective, 0);
  EXPECT_EQ(function.residual_calls, 1);
}

TEST(LeastSquares, JacobianIsAskedForAcceptedPointsOnly) {
  StandardResiduals wood(standard_problem("wood"));
  FakeResiduals function(
      4, 6, [&](const Vector& x, Vector* r, Matrix* j) { return wood.evaluate(x, r, j); });
  const Summary summary = least_squares(&function, standard_problem("wood").start);
  EXPECT_EQ(summary.function_evaluations, function.residual_calls);
  EXPECT_EQ(summary.derivative_evaluations, function.jacobian_calls);
  EXPECT_EQ(summary.derivative_evaluations, summary.successful_iterations + 1);
  EXPECT_LT(summary.successful_iterations, summary.iterations);
  EXPECT_EQ(static_cast<int>(summary.records.size()), summary.iterations + 1);
}

TEST(LeastSquares, RetreatsFromUndefinedPoints) {
  // log x = 0, started where the Gauss-Newton step leaves the domain.
  FakeResiduals function(1, 1, [](const Vector& x, Vector* r, Matrix* j) {
    if (x[0] <= 0) return false;
    if (r != nullptr) (*r)[0] = std::log(x[0]);
    if (j != nullptr) (*j)(0, 0) = 1 / x[0];
    return true;
  });
  const Summary summary = least_squares(&function, Vector::Constant(1, 20.0));
  EXPECT_TRUE(summary.converged()) << summary.full_report();
  EXPECT_LT(summary.objective, 1e-16);
  EXPECT_FALSE(summary.records[1].accepted);
}

TEST(LeastSquares, UndefinedSurroundingsAreNotConvergence) {
  const Vector start = Vector::Ones(1);
  FakeResiduals function(1, 1, [&](const Vector& x, Vector* r, Matrix* j) {
    if (r != nullptr) (*r)[0] = x[0] == start[0] ? 1.0 : kNan;
    if (j != nullptr) (*j)(0, 0) = 1;
    return true;
  });
  const Summary summary = least_squares(&function, start);
  EXPECT_EQ(summary.termination, Termination::kEvaluationFailed);
  EXPECT_THAT(summary.message, HasSubstr("residual is nan"));
  EXPECT_EQ(summary.x, start);
}

TEST(LeastSquares, BadJacobianIsReported) {
  FakeResiduals function(1, 1, [&](const Vector& x, Vector* r, Matrix* j) {
    if (r != nullptr) (*r)[0] = x[0];
    if (j != nullptr) (*j)(0, 0) = x[0] == 1 ? 2.0 : kNan;
    return true;
  });
  const Summary summary = least_squares(&function, Vector::Ones(1));
  EXPECT_EQ(summary.termination, Termination::kEvaluationFailed);
  EXPECT_THAT(summary.message, HasSubstr("jacobian"));
}

TEST(LeastSquares, GradientCheckStopsAWrongJacobian) {
  FakeResiduals function(1, 1, [&](const Vector& x, Vector* r, Matrix* j) {
    if (r != nullptr) (*r)[0] = x[0] * x[0];
    if (j != nullptr) (*j)(0, 0) = x[0];
    return true;
  });
  LeastSquaresOptions options;
  options.check_gradients = true;
  const Summary summary = least_squares(&function, Vector::Ones(1), options);
  EXPECT_EQ(summary.termination, Termination::kGradientCheckFailed);
  EXPECT_EQ(summary.iterations, 0);
}

TEST(LeastSquares, InvalidOptionsAndLimits) {
  StandardResiduals function(standard_problem("wood"));
  const Vector& start = standard_problem("wood").start;
  LeastSquaresOptions options;
  options.initial_radius_factor = 0;
  Summary summary = least_squares(&function, start, options);
  EXPECT_EQ(summary.termination, Termination::kInvalidOptions);
  EXPECT_EQ(summary.message, "option initial_radius_factor = 0 must be > 0 and finite");
  options = {};
  options.max_iterations = 3;
  summary = least_squares(&function, start, options);
  EXPECT_EQ(summary.termination, Termination::kMaxIterations);
  options = {};
  options.max_evaluations = 7;
  summary = least_squares(&function, start, options);
  EXPECT_EQ(summary.termination, Termination::kMaxEvaluations);
  EXPECT_EQ(summary.function_evaluations, 7);
  options = {};
  options.callback = [](const IterationRecord& record, const Vector&) {
    return record.iteration == 2;
  };
  summary = least_squares(&function, start, options);
  EXPECT_EQ(summary.termination, Termination::kStoppedByCallback);
  EXPECT_EQ(summary.iterations, 2);
}

LeastSquaresOptions within(const Vector& lower, const Vector& upper) {
  LeastSquaresOptions options;
  options.bounds = {lower, upper};
  return options;
}

/// The minimum of 1/2 |A x - b|^2 over a box, by trying every choice of active bounds.
double best_in_box(const Matrix& a, const Vector& b, const Vector& lower, const Vector& upper) {
  const Index n = a.cols();
  double best = std::numeric_limits<double>::infinity();
  for (int code = 0; code < std::pow(3, n); ++code) {
    Vector x = Vector::Zero(n);
    std::vector<Index> free;
    for (Index i = 0, rest = code; i < n; ++i, rest /= 3) {
      if (rest % 3 == 0) free.push_back(i);
      if (rest % 3 == 1) x[i] = lower[i];
      if (rest % 3 == 2) x[i] = upper[i];
    }
    Matrix columns(a.rows(), static_cast<Index>(free.size()));
    for (size_t k = 0; k < free.size(); ++k) columns.col(static_cast<Index>(k)) = a.col(free[k]);
    if (!free.empty()) {
      const Vector y =
          (columns.transpose() * columns).inverse() * columns.transpose() * (b - a * x);
      for (size_t k = 0; k < free.size(); ++k) x[free[k]] = y[static_cast<Index>(k)];
    }
    const bool inside =
        (x.array() >= lower.array() - 1e-12).all() && (x.array() <= upper.array() + 1e-12).all();
    if (inside) best = std::min(best, 0.5 * (a * x - b).squaredNorm());
  }
  return best;
}

TEST(LeastSquaresInBounds, RandomLinearProblemsReachTheBestActiveSet) {
  const unsigned seed = 42;
  std::srand(seed);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed << " case " << i);
    const Matrix a = Matrix::Random(7, 4);
    const Vector b = 3 * Vector::Random(7);
    const Vector lower = -Vector::Random(4).cwiseAbs();
    const Vector upper = Vector::Random(4).cwiseAbs();
    FakeResiduals function = linear_residuals(a, b);
    for (LeastSquaresMethod method :
         {LeastSquaresMethod::kLevenbergMarquardt, LeastSquaresMethod::kGaussNewton}) {
      LeastSquaresOptions options = within(lower, upper);
      options.method = method;
      const Summary summary = least_squares(&function, Vector::Zero(4), options);
      EXPECT_TRUE(summary.converged()) << summary.full_report();
      const double best = best_in_box(a, b, lower, upper);
      EXPECT_NEAR(summary.objective, best, 1e-7 * best) << summary.full_report();
    }
  }
}

TEST(LeastSquaresInBounds, RosenbrockBehindAWallNeverLeavesTheBox) {
  StandardResiduals rosenbrock(standard_problem("rosenbrock"));
  FakeResiduals function(2, 2, [&](const Vector& x, Vector* r, Matrix* j) {
    EXPECT_LE(x[0], 0.5);
    EXPECT_GE(x[1], -0.1);
    return rosenbrock.evaluate(x, r, j);
  });
  const double infinity = std::numeric_limits<double>::infinity();
  const Summary summary =
      least_squares(&function, standard_problem("rosenbrock").start,
                    within(Eigen::Vector2d(-3, -0.1), Eigen::Vector2d(0.5, infinity)));
  EXPECT_TRUE(summary.converged()) << summary.full_report();
  EXPECT_NEAR(summary.objective, 0.125, 1e-12);
  EXPECT_EQ(summary.x[0], 0.5);
}

TEST(LeastSquaresInBounds, InactiveBoundsChangeNothing) {
  for (const char* name : {"beale", "helical_valley", "wood", "powell_singular", "bard"}) {
    const StandardProblem& problem = standard_problem(name);
    StandardResiduals residuals(problem);
    const Index n = problem.start.size();
    const Summary free = least_squares(&residuals, problem.start);
    const Summary bounded = least_squares(
        &residuals, problem.start, within(Vector::Constant(n, -1e3), Vector::Constant(n, 1e3)));
    EXPECT_EQ(free.x, bounded.x) << name;
    EXPECT_EQ(free.iterations, bounded.iterations) << name;
  }
}

/// Proposes fixed steps and writes down what the loop tells it.
class FakeStrategy : public TrustRegionStrategy {
 public:
  struct Log {
    int models = 0;
    std::vector<double> gains;
  };
  FakeStrategy(std::vector<double> steps, Log* log) : steps_(std::move(steps)), log_(log) {}
  std::string_view name() const override { return "fake"; }
  void set_model(const Vector&, const Vector&, const Matrix&) override { ++log_->models; }
  bool compute_step(ModelStep* step) override {
    if (next_ == steps_.size()) return false;
    step->step = Vector::Constant(1, steps_[next_++]);
    step->predicted_reduction = 0.5;
    return true;
  }
  void observe(const ModelStep&, const StepOutcome& outcome) override {
    log_->gains.push_back(outcome.gain_ratio);
  }
  double radius() const override { return 1; }
  double relative_radius() const override { return 1; }

 private:
  std::vector<double> steps_;
  Log* log_;
  size_t next_ = 0;
};

TEST(TrustRegionLoop, AcceptsByTheGainRatioAndReportsAStrategyThatGivesUp) {
  // r = x from x = 2: to 1 (reduction 3/4, gain 3/2), to 3 (reduction -8), to 1/2 (3/4 again).
  FakeStrategy::Log log;
  LeastSquaresOptions options;
  options.gradient_tolerance = 0;
  const Vector x0 = Vector::Constant(1, 2.0);
  LeastSquaresSolver solver(
      options, std::make_unique<FakeStrategy>(std::vector<double>{-1, 2, -0.5}, &log), x0);
  solver.start(x0, Matrix::Ones(1, 1));
  while (solver.propose()) {
    if (solver.judge(solver.trial())) solver.set_jacobian(Matrix::Ones(1, 1));
  }
  EXPECT_EQ(log.models, 3);
  ASSERT_EQ(log.gains.size(), 3u);
  EXPECT_DOUBLE_EQ(log.gains[0], 1.5);
  EXPECT_DOUBLE_EQ(log.gains[1], -16);
  EXPECT_DOUBLE_EQ(log.gains[2], 1.5);
  const Summary& summary = solver.summary();
  EXPECT_EQ(summary.x[0], 0.5);
  EXPECT_EQ(summary.termination, Termination::kLinearSolverFailed);
  EXPECT_EQ(summary.successful_iterations, 2);
  EXPECT_THAT(summary.message, HasSubstr("iteration 4"));
}

}  // namespace
}  // namespace wt::optim::testing
