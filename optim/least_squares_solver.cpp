// SPDX-License-Identifier: Apache-2.0
// least_squares_solver.cpp: the trust region loop, cut open at its evaluations.
#include "optim/least_squares_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "optim/text.h"

namespace wt::optim {
LeastSquaresSolver::LeastSquaresSolver(const LeastSquaresOptions& options,
                                       std::unique_ptr<TrustRegionStrategy> strategy,
                                       const Vector& x0)
    : options_(options), strategy_(std::move(strategy)), x_(x0), trial_(x0) {
  summary_.method = strategy_->name();
  summary_.x = x0;
}

void LeastSquaresSolver::start(const Vector& residuals, const Matrix& jacobian) {
  residuals_ = residuals;
  summary_.initial_objective = summary_.objective = 0.5 * residuals.squaredNorm();
  ++summary_.function_evaluations;
  ++summary_.derivative_evaluations;
  jacobian_ = jacobian;
  update_gradient();
  if (options_.record_iterations) {
    summary_.records.push_back({.objective = summary_.objective,
                                .gradient_norm = summary_.gradient_norm,
                                .function_evaluations = 1});
  }
  if (!finished()) strategy_->set_model(x_, residuals_, jacobian_);
}

bool LeastSquaresSolver::propose() {
  if (finished() || !within_limits()) return false;
  if (!strategy_->compute_step(&step_) || !step_.step.allFinite()) {
    stop(Termination::kLinearSolverFailed,
         join("no finite step from the ", linear_solver_name(options_.linear_solver),
              " linear solver in iteration ", summary_.iterations + 1));
    return false;
  }
  trial_ = x_ + step_.step;
  return true;
}

bool LeastSquaresSolver::judge(const Vector& residuals) {
  if (finished()) return false;
  evaluation_problem_.clear();
  outcome_ = measure(residuals);
  strategy_->observe(step_, outcome_);
  ++summary_.function_evaluations;
  const bool accepted = outcome_.gain_ratio > options_.min_gain_ratio;
  if (accepted) {
    trial_residuals_ = residuals;
  } else {
    finish_iteration(false);
  }
  return accepted;
}

void LeastSquaresSolver::reject_undefined(const std::string& problem) {
  if (finished()) return;
  ++summary_.function_evaluations;
  evaluation_problem_ = problem;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  outcome_ = {.valid = false, .actual_reduction = -kInfinity, .gain_ratio = -kInfinity};
  strategy_->observe(step_, outcome_);
  finish_iteration(false);
}

void LeastSquaresSolver::set_jacobian(const Matrix& jacobian) {
  x_ = trial_;
  residuals_ = trial_residuals_;
  jacobian_ = jacobian;
  ++summary_.derivative_evaluations;
  ++summary_.successful_iterations;
  summary_.x = x_;
  finish_iteration(true);
  if (!finished()) strategy_->set_model(x_, residuals_, jacobian_);
}

void LeastSquaresSolver::stop(Termination termination, const std::string& message) {
  if (finished()) return;
  summary_.termination = termination;
  summary_.message = message;
  trial_ = x_;
}

bool LeastSquaresSolver::within_limits() {
  if (summary_.iterations >= options_.max_iterations) {
    stop(Termination::kMaxIterations,
         join("max_iterations = ", options_.max_iterations, " reached"));
  } else if (summary_.function_evaluations >= options_.max_evaluations) {
    stop(Termination::kMaxEvaluations,
         join("max_evaluations = ", options_.max_evaluations, " reached"));
  }
  return !finished();
}

StepOutcome LeastSquaresSolver::measure(const Vector& residuals) const {
  const double ratio = residuals.norm() / residuals_.norm();
  StepOutcome outcome{.valid = true};
  outcome.actual_reduction =
      1 - ratio * ratio;  // minus infinity on overflow: rejected as it should
  if (step_.predicted_reduction > 0) {
    outcome.gain_ratio = outcome.actual_reduction / step_.predicted_reduction;
  }
  return outcome;
}

void LeastSquaresSolver::finish_iteration(bool accepted) {
  ++summary_.iterations;
  const double before = summary_.objective;
  if (accepted) {
    summary_.objective = 0.5 * residuals_.squaredNorm();
    update_gradient();
  }
  test_convergence();
  const IterationRecord record{.iteration = summary_.iterations,
                               .objective = summary_.objective,
                               .change = before - summary_.objective,
                               .gradient_norm = summary_.gradient_norm,
                               .step_norm = step_.step.norm(),
                               .step_size = outcome_.gain_ratio,
                               .radius = strategy_->radius(),
                               .damping = step_.damping,
                               .accepted = accepted,
                               .function_evaluations = summary_.function_evaluations};
  if (options_.record_iterations) summary_.records.push_back(record);
  if (!finished() && options_.callback && options_.callback(record, x_)) {
    stop(Termination::kStoppedByCallback, "the callback asked to stop");
  }
}

/// The three tests of the paper's section on convergence; the gradient's is in update_gradient().
void LeastSquaresSolver::test_convergence() {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  if (finished()) return;
  const double reach = strategy_->relative_radius();
  if (!outcome_.valid) {
    if (reach > std::max(options_.step_tolerance, kEpsilon)) return;
    stop(Termination::kEvaluationFailed,
         join("every point near x is undefined: ", evaluation_problem_));
    return;
  }
  const double tolerance = std::max(options_.function_tolerance, kEpsilon);
  if (std::abs(outcome_.actual_reduction) <= tolerance && step_.predicted_reduction <= tolerance &&
      outcome_.gain_ratio <= 2) {
    stop(Termination::kFunctionTolerance,
         join("relative reduction of the squared residual: actual ", outcome_.actual_reduction,
              ", predicted ", step_.predicted_reduction, ", function_tolerance ",
              options_.function_tolerance));
  } else if (reach <= std::max(options_.step_tolerance, kEpsilon)) {
    stop(Termination::kStepTolerance, join("trust region of relative size ", reach,
                                           ", step_tolerance ", options_.step_tolerance));
  }
}

void LeastSquaresSolver::update_gradient() {
  const Vector gradient = jacobian_.transpose() * residuals_;
  summary_.gradient_norm = gradient.size() > 0 ? gradient.cwiseAbs().maxCoeff() : 0;
  const double residual_norm = residuals_.norm();
  largest_cosine_ = 0;
  for (Index j = 0; j < gradient.size(); ++j) {
    const double column = jacobian_.col(j).norm();
    if (column == 0 || residual_norm == 0) continue;
    largest_cosine_ = std::max(largest_cosine_, std::abs(gradient[j]) / column / residual_norm);
  }
  if (largest_cosine_ <= options_.gradient_tolerance) {
    stop(Termination::kGradientTolerance,
         join("largest cosine between residuals and a Jacobian column ", largest_cosine_,
              ", gradient_tolerance ", options_.gradient_tolerance));
  }
}

bool validate_start(const LeastSquaresOptions& options, Index given, Index wanted,
                    Summary* summary) {
  std::string error;
  if (options.is_valid(&error) && given != wanted) {
    error =
        join("x0 has ", given, " entries per problem, the function has ", wanted, " parameters");
  }
  if (error.empty()) return true;
  summary->termination = Termination::kInvalidOptions;
  summary->message = error;
  return false;
}

}  // namespace wt::optim
