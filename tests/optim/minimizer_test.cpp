// SPDX-License-Identifier: Apache-2.0
// minimizer_test.cpp: L-BFGS and its loop.
#include "optim/minimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "fakes.h"
#include "standard_problems.h"

namespace wt::optim::testing {
namespace {

using ::testing::HasSubstr;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class StandardMinimize : public ::testing::TestWithParam<StandardProblem> {};

TEST_P(StandardMinimize, LbfgsSolvesIt) {
  SumOfSquares objective(GetParam());
  const Summary summary = minimize(&objective, GetParam().start);
  EXPECT_TRUE(is_solved(GetParam(), summary.objective)) << summary.full_report();
  EXPECT_TRUE(summary.converged()) << summary.full_report();
  // The summary tells the truth about its own point.
  double value = 0;
  Vector gradient(GetParam().start.size());
  objective.evaluate(summary.x, &value, &gradient);
  EXPECT_EQ(summary.objective, value);
  EXPECT_EQ(summary.gradient_norm, gradient.cwiseAbs().maxCoeff());
  for (size_t i = 1; i < summary.records.size(); ++i) {
    EXPECT_LE(summary.records[i].objective,
              summary.records[i - 1].objective * (1 + 2e-15) + 1e-300);
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, StandardMinimize, ::testing::ValuesIn(standard_problems()),
                         [](const auto& info) { return info.param.name; });

TEST(Minimize, QuadraticReachesTheClosedForm) {
  const Index n = 50;
  const Vector d = Vector::LinSpaced(n, 1, 1e3);
  const Vector b = Vector::LinSpaced(n, -1, 2);
  FakeObjective objective = diagonal_quadratic(d, b);
  MinimizeOptions options;
  options.gradient_tolerance = 1e-8;
  options.function_tolerance = 0;
  const Summary summary = minimize(&objective, Vector::Ones(n), options);
  EXPECT_EQ(summary.termination, Termination::kGradientTolerance) << summary.message;
  EXPECT_LE((d.cwiseProduct(summary.x) - b).cwiseAbs().maxCoeff(), 1e-8);
  EXPECT_NEAR(summary.objective, -0.5 * b.dot(b.cwiseQuotient(d)), 1e-12);
}

// With all n pairs kept and nearly exact line searches BFGS on a quadratic ends in n + 1 steps
// (Nocedal & Wright, theorem 6.4): the two-loop recursion must then be the full BFGS matrix.
TEST(Minimize, FullHistoryEndsOnAQuadraticInNSteps) {
  Vector d(5);
  d << 1, 3, 10, 30, 100;
  FakeObjective objective = diagonal_quadratic(d, Vector::Ones(5));
  MinimizeOptions options;
  options.line_search.curvature = 1e-3;
  options.line_search.sufficient_decrease = 1e-4;
  options.function_tolerance = 0;
  options.gradient_tolerance = 1e-5;
  const Summary summary = minimize(&objective, Vector::Zero(5), options);
  EXPECT_TRUE(summary.converged());
  EXPECT_LE(summary.iterations, 7) << summary.full_report();
}

TEST(Minimize, StartAtTheMinimumStopsAtOnce) {
  FakeObjective objective = diagonal_quadratic(Vector::Ones(2), Vector::Zero(2));
  const Summary summary = minimize(&objective, Vector::Zero(2));
  EXPECT_EQ(summary.termination, Termination::kGradientTolerance);
  EXPECT_EQ(summary.iterations, 0);
  EXPECT_EQ(summary.function_evaluations, 1);
  EXPECT_EQ(summary.records.size(), 1u);
}

TEST(Minimize, SummaryIsFilled) {
  SumOfSquares objective(standard_problem("rosenbrock"));
  const Summary summary = minimize(&objective, standard_problem("rosenbrock").start);
  EXPECT_EQ(summary.method, "lbfgs");
  EXPECT_NEAR(summary.initial_objective, 24.2, 1e-12);
  EXPECT_EQ(summary.iterations, summary.successful_iterations);
  EXPECT_EQ(static_cast<int>(summary.records.size()), summary.iterations + 1);
  EXPECT_GE(summary.function_evaluations, summary.iterations);
  EXPECT_GT(summary.seconds, 0);
  EXPECT_GE(summary.seconds, summary.evaluation_seconds);
  EXPECT_THAT(summary.message, HasSubstr("gradient_tolerance 1e-06"));
  EXPECT_THAT(summary.brief_report(), HasSubstr("lbfgs: gradient_tolerance, objective 2.42"));
  EXPECT_THAT(summary.full_report(), HasSubstr("largest gradient entry"));
}

TEST(Minimize, InvalidOptionsEvaluateNothing) {
  FakeObjective objective = diagonal_quadratic(Vector::Ones(2), Vector::Zero(2));
  MinimizeOptions options;
  options.history = 0;
  Summary summary = minimize(&objective, Vector::Ones(2), options);
  EXPECT_EQ(summary.termination, Termination::kInvalidOptions);
  EXPECT_EQ(summary.message, "option history = 0 must be >= 1");
  EXPECT_EQ(summary.x, Vector::Ones(2));
  summary = minimize(&objective, Vector::Ones(3));
  EXPECT_EQ(summary.termination, Termination::kInvalidOptions);
  EXPECT_EQ(summary.message, "x0 has 3 entries, the function has 2 parameters");
  EXPECT_EQ(objective.calls, 0);
}

TEST(Minimize, LimitsAreKept) {
  const StandardProblem& problem = standard_problem("rosenbrock");
  SumOfSquares objective(problem);
  MinimizeOptions options;
  options.max_iterations = 5;
  Summary summary = minimize(&objective, problem.start, options);
  EXPECT_EQ(summary.termination, Termination::kMaxIterations);
  EXPECT_EQ(summary.iterations, 5);
  options.max_iterations = 1000;
  options.max_evaluations = 10;
  summary = minimize(&objective, problem.start, options);
  EXPECT_EQ(summary.termination, Termination::kMaxEvaluations);
  EXPECT_LE(summary.function_evaluations, 10 + options.line_search.max_line_search_evaluations);
  EXPECT_LT(summary.objective, summary.initial_objective);
}

TEST(Minimize, CallbackSeesEveryIterationAndStops) {
  const StandardProblem& problem = standard_problem("rosenbrock");
  SumOfSquares objective(problem);
  MinimizeOptions options;
  options.record_iterations = false;
  std::vector<int> seen;
  options.callback = [&](const IterationRecord& record, const Vector& x) {
    double value = 0;
    objective.evaluate(x, &value, nullptr);
    EXPECT_EQ(value, record.objective);
    seen.push_back(record.iteration);
    return record.iteration == 4;
  };
  const Summary summary = minimize(&objective, problem.start, options);
  EXPECT_EQ(summary.termination, Termination::kStoppedByCallback);
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_TRUE(summary.records.empty());
}

TEST(Minimize, UndefinedStartIsReported) {
  FakeObjective objective(1, [](const Vector&, double* value, Vector* gradient) {
    *value = kNan;
    gradient->setZero();
    return true;
  });
  const Summary summary = minimize(&objective, Vector::Ones(1));
  EXPECT_EQ(summary.termination, Termination::kEvaluationFailed);
  EXPECT_EQ(summary.message, "at the start: the objective is nan");
  EXPECT_EQ(summary.x, Vector::Ones(1));
}

TEST(Minimize, StaysInsideTheDomain) {
  // x - log x: minimum 1 at x = 1, undefined for x <= 0, first trial step leads there.
  FakeObjective objective(1, [](const Vector& x, double* value, Vector* gradient) {
    *value = x[0] - std::log(x[0]);
    if (gradient != nullptr) (*gradient)[0] = 1 - 1 / x[0];
    return true;
  });
  const Summary summary = minimize(&objective, Vector::Constant(1, 1e-3));
  EXPECT_TRUE(summary.converged()) << summary.full_report();
  EXPECT_NEAR(summary.objective, 1.0, 1e-10);
}

TEST(Minimize, WrongGradientEndsInLineSearchFailure) {
  FakeObjective objective(2, [](const Vector& x, double* value, Vector* gradient) {
    *value = x.squaredNorm();
    if (gradient != nullptr) *gradient = -2 * x;
    return true;
  });
  Summary summary = minimize(&objective, Vector::Ones(2));
  EXPECT_EQ(summary.termination, Termination::kLineSearchFailed);
  EXPECT_THAT(summary.message, HasSubstr("the gradient is wrong"));
  EXPECT_EQ(summary.objective, 2.0);
  MinimizeOptions options;
  options.check_gradients = true;
  summary = minimize(&objective, Vector::Ones(2), options);
  EXPECT_EQ(summary.termination, Termination::kGradientCheckFailed);
  EXPECT_THAT(summary.message, HasSubstr("given -2, finite difference 2"));
}

TEST(Minimize, UnboundedObjectiveStopsAtALimit) {
  FakeObjective objective(1, [](const Vector& x, double* value, Vector* gradient) {
    *value = -x[0];
    if (gradient != nullptr) (*gradient)[0] = -1;
    return true;
  });
  MinimizeOptions options;
  options.max_iterations = 20;
  const Summary summary = minimize(&objective, Vector::Zero(1), options);
  EXPECT_FALSE(summary.converged());
  EXPECT_LT(summary.objective, -1e15);
}

TEST(Minimize, ExceptionsPassThrough) {
  FakeObjective objective(1, [](const Vector&, double*, Vector*) -> bool {
    throw std::runtime_error("from the user");
  });
  EXPECT_THROW(minimize(&objective, Vector::Zero(1)), std::runtime_error);
}

TEST(Minimize, Float32FunctionConverges) {
  // Rosenbrock rounded to float32: without function_noise the values contradict the slopes.
  SumOfSquares exact(standard_problem("rosenbrock"));
  FakeObjective objective(2, [&](const Vector& x, double* value, Vector* gradient) {
    exact.evaluate(x, value, gradient);
    *value = static_cast<float>(*value + 100.0);
    return true;
  });
  MinimizeOptions options;
  options.line_search.function_noise = 1e-6;
  options.function_tolerance = 0;
  const Summary summary = minimize(&objective, standard_problem("rosenbrock").start, options);
  EXPECT_EQ(summary.termination, Termination::kGradientTolerance) << summary.full_report();
  double value = 0;
  exact.evaluate(summary.x, &value, nullptr);
  EXPECT_LT(value, 1e-9);
}

MinimizeOptions within(const Vector& lower, const Vector& upper) {
  MinimizeOptions options;
  options.bounds = {lower, upper};
  return options;
}

TEST(MinimizeInBounds, SeparableQuadraticIsClampedEntryByEntry) {
  const Index n = 40;
  const Vector d = Vector::LinSpaced(n, 1, 300);
  const Vector b = 400 * Vector::LinSpaced(n, -1, 1);
  const Vector lower = Vector::Constant(n, -2);
  Vector upper = Vector::Constant(n, 1.5);
  upper[3] = std::numeric_limits<double>::infinity();
  FakeObjective objective = diagonal_quadratic(d, b);
  MinimizeOptions options = within(lower, upper);
  options.gradient_tolerance = 1e-9;
  options.function_tolerance = 0;
  const Summary summary = minimize(&objective, Vector::Zero(n), options);
  EXPECT_TRUE(summary.converged()) << summary.full_report();
  const Vector exact = b.cwiseQuotient(d).cwiseMax(lower).cwiseMin(upper);
  EXPECT_LT((summary.x - exact).norm(), 1e-9);
  EXPECT_LT(summary.iterations, 60);
}

TEST(MinimizeInBounds, RosenbrockBehindAWall) {
  // With x0 <= 1/2 the minimum is at (1/2, 1/4): (1 - 1/2)^2.
  SumOfSquares rosenbrock(standard_problem("rosenbrock"));
  const double infinity = std::numeric_limits<double>::infinity();
  FakeObjective objective(2, [&](const Vector& x, double* value, Vector* gradient) {
    EXPECT_LE(x[0], 0.5);
    EXPECT_GE(x[0], -3);
    return rosenbrock.evaluate(x, value, gradient);
  });
  const Summary summary =
      minimize(&objective, standard_problem("rosenbrock").start,
               within(Eigen::Vector2d(-3, -infinity), Eigen::Vector2d(0.5, infinity)));
  EXPECT_TRUE(summary.converged()) << summary.full_report();
  EXPECT_NEAR(summary.objective, 0.25, 1e-10);
  EXPECT_EQ(summary.x[0], 0.5);
}

TEST(MinimizeInBounds, InactiveBoundsStillSolveTheStandardProblems) {
  for (const char* name : {"beale", "helical_valley", "wood", "powell_singular", "bard"}) {
    const StandardProblem& problem = standard_problem(name);
    SumOfSquares objective(problem);
    const Index n = problem.start.size();
    const Summary summary = minimize(&objective, problem.start,
                                     within(Vector::Constant(n, -50), Vector::Constant(n, 50)));
    EXPECT_TRUE(is_solved(problem, summary.objective)) << name << summary.full_report();
  }
}

TEST(MinimizeInBounds, CornerThatHoldsTheStart) {
  FakeObjective objective = diagonal_quadratic(Vector::Ones(2), Vector::Constant(2, 5));
  const Summary summary =
      minimize(&objective, Vector::Ones(2), within(Vector::Zero(2), Vector::Ones(2)));
  EXPECT_EQ(summary.termination, Termination::kGradientTolerance);
  EXPECT_EQ(summary.gradient_norm, 0);
  EXPECT_EQ(summary.iterations, 0);
}

TEST(MinimizeInBounds, BadBoundsAreNamed) {
  FakeObjective objective = diagonal_quadratic(Vector::Ones(2), Vector::Zero(2));
  const auto message = [&](const Vector& lower, const Vector& upper) {
    const Summary summary = minimize(&objective, Vector::Ones(2), within(lower, upper));
    EXPECT_EQ(summary.termination, Termination::kInvalidOptions);
    return summary.message;
  };
  EXPECT_EQ(message(Vector::Zero(2), Vector::Zero(3)), "bounds have 2 and 3 entries, x0 has 2");
  EXPECT_EQ(message(Eigen::Vector2d(0, 3), Eigen::Vector2d(2, 2)),
            "bounds[1]: lower = 3 must be <= upper = 2");
  EXPECT_EQ(message(Vector::Zero(2), Eigen::Vector2d(2, 0.5)),
            "x0[1] = 1 must lie within its bounds 0 and 0.5");
  EXPECT_EQ(objective.calls, 0);
}

/// Always the negative gradient scaled by a constant, and once a direction uphill.
class FakeDirection : public DescentDirection {
 public:
  std::string_view name() const override { return "fake"; }
  void compute(const Vector& gradient, const Vector&, Vector* direction) const override {
    *direction = uphill ? gradient : Vector(-0.5 * gradient);
  }
  double first_step(const Vector&) const override { return 1.0; }
  void update(const Vector& step, const Vector& gradient_change) override {
    ++updates;
    curvature = step.dot(gradient_change);
  }
  bool reset() override { return std::exchange(uphill, false); }

  bool uphill = true;
  int updates = 0;
  double curvature = 0;
};

TEST(LineSearchLoop, ResetsADirectionThatClimbsThenGoesOn) {
  FakeObjective objective = diagonal_quadratic(Vector::Ones(3), Vector::Zero(3));
  FakeDirection direction;
  const Summary summary = minimize(&objective, &direction, Vector::Ones(3), MinimizeOptions{});
  EXPECT_EQ(summary.method, "fake");
  EXPECT_TRUE(summary.converged());
  EXPECT_FALSE(direction.uphill);
  EXPECT_EQ(direction.updates, summary.iterations);
  EXPECT_GT(direction.curvature, 0);
  // x is halved by each step of -g/2 until |x| <= gradient_tolerance.
  EXPECT_EQ(summary.iterations, 20);
}

}  // namespace
}  // namespace wt::optim::testing
