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
  if (!finished()) set_model();
}

bool LeastSquaresSolver::propose() {
  while (!finished() && within_limits()) {
    if (!strategy_->compute_step(&step_) || !step_.step.allFinite()) {
      stop(Termination::kLinearSolverFailed,
           join("no finite step from the ", linear_solver_name(options_.linear_solver),
                " linear solver in iteration ", summary_.iterations + 1));
    } else if (compute_trial()) {
      return true;
    }
  }
  return false;
}

/// Projects the step onto the bounds, as Kanzow, Yamashita and Fukushima do (Levenberg-Marquardt
/// methods with strong local convergence properties for solving nonlinear equations with convex
/// constraints, J. Comput. Appl. Math. 172, 2004), and asks the linear model about what is left of
/// it. False, with a smaller radius, if the model sees no reduction in that.
bool LeastSquaresSolver::compute_trial() {
  trial_ = x_ + step_.step;
  if (options_.bounds.empty()) return true;
  const Vector projected = options_.bounds.project(trial_);
  clipped_ = projected != trial_;
  if (!clipped_) return true;
  trial_ = projected;
  step_.step = trial_ - x_;
  const Vector change = jacobian_ * step_.step;
  const double square = residuals_.squaredNorm();
  step_.slope = residuals_.dot(change) / square;
  step_.predicted_reduction = -(2 * step_.slope + change.squaredNorm() / square);
  if (step_.predicted_reduction > 0 && step_.slope < 0) return true;
  evaluation_problem_.clear();
  outcome_ = {.valid = true, .actual_reduction = 0, .gain_ratio = 0};
  strategy_->observe(step_, outcome_);
  trial_ = x_;
  finish_iteration(false);
  return false;
}

/// The model moves the free variables only: to it, a variable held by a bound has no effect.
void LeastSquaresSolver::set_model() {
  if (options_.bounds.empty()) return strategy_->set_model(x_, residuals_, jacobian_);
  const Vector gradient = jacobian_.transpose() * residuals_;
  const Vector free = options_.bounds.free_gradient(x_, gradient);
  Matrix jacobian = jacobian_;
  for (Index j = 0; j < jacobian.cols(); ++j) {
    if (free[j] != gradient[j]) jacobian.col(j).setZero();
  }
  strategy_->set_model(x_, residuals_, jacobian);
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
  if (!finished()) set_model();
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
  // A step cut short by a bound says nothing about what the next one, along the bound, can gain.
  if (!clipped_ && std::abs(outcome_.actual_reduction) <= tolerance &&
      step_.predicted_reduction <= tolerance && outcome_.gain_ratio <= 2) {
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
  const Vector gradient = options_.bounds.free_gradient(x_, jacobian_.transpose() * residuals_);
  summary_.gradient_norm = gradient.lpNorm<Eigen::Infinity>();
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

bool validate_start(const LeastSquaresOptions& options, const Vector& x0, Index parameters,
                    Summary* summary) {
  std::string error;
  if (options.is_valid(&error)) {
    if (x0.size() != parameters) {
      error = join("x0 has ", x0.size(), " entries, the function has ", parameters, " parameters");
    } else {
      options.bounds.contains(x0, &error);
    }
  }
  if (error.empty()) return true;
  summary->termination = Termination::kInvalidOptions;
  summary->message = error;
  return false;
}

}  // namespace wt::optim
