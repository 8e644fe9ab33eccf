// SPDX-License-Identifier: Apache-2.0
// least_squares.cpp: the trust region loop around one residual function.
#include <utility>

#include "optim/evaluator.h"
#include "optim/gradient_check.h"
#include "optim/least_squares_solver.h"
#include "optim/minimizer.h"
#include "optim/stopwatch.h"

namespace wt::optim {

Summary least_squares(ResidualFunction* function, const Vector& x0,
                      const LeastSquaresOptions& options) {
  const Stopwatch stopwatch;
  LeastSquaresSolver solver(options, make_strategy(options), x0);
  Summary* summary = solver.mutable_summary();
  if (!validate_start(options, x0, function->num_parameters(), summary)) return *summary;
  ResidualEvaluator evaluator(function);
  Vector residuals;
  Matrix jacobian;
  if (!evaluator.residuals(x0, &residuals) || !evaluator.jacobian(x0, &jacobian)) {
    solver.stop(Termination::kEvaluationFailed, "at the start: " + evaluator.problem());
  } else if (options.check_gradients) {
    const GradientCheckReport report =
        check_jacobian(function, x0, options.gradient_check_tolerance);
    if (!report.passed) solver.stop(Termination::kGradientCheckFailed, report.text);
  }
  if (!solver.finished()) solver.start(residuals, jacobian);

  while (solver.propose()) {
    if (!evaluator.residuals(solver.trial(), &residuals)) {
      solver.reject_undefined(evaluator.problem());
    } else if (solver.judge(residuals)) {
      if (evaluator.jacobian(solver.trial(), &jacobian)) {
        solver.set_jacobian(jacobian);
      } else {
        solver.stop(Termination::kEvaluationFailed, evaluator.problem());
      }
    }
  }
  summary->function_evaluations = evaluator.counts().functions;
  summary->derivative_evaluations = evaluator.counts().derivatives;
  summary->evaluation_seconds = evaluator.counts().seconds;
  summary->seconds = stopwatch.seconds();
  return std::move(*summary);
}

}  // namespace wt::optim
