// SPDX-License-Identifier: Apache-2.0
// minimizer.cpp: the line search loop.
#include "optim/minimizer.h"

#include <algorithm>
#include <cmath>

#include "optim/evaluator.h"
#include "optim/gradient_check.h"
#include "optim/line_search.h"
#include "optim/stopwatch.h"
#include "optim/text.h"

namespace wt::optim {
namespace {

/// f along x + a d.
class ObjectiveLine : public LineFunction {
 public:
  ObjectiveLine(ObjectiveEvaluator* evaluator, const Vector& x, const Vector& direction)
      : evaluator_(evaluator), x_(x), direction_(direction) {}

  bool evaluate(double step, double* value, double* slope) override {
    point_ = x_ + step * direction_;
    if (!evaluator_->evaluate(point_, value, &gradient_)) return false;
    *slope = gradient_.dot(direction_);
    return std::isfinite(*slope);
  }

 private:
  ObjectiveEvaluator* evaluator_;
  const Vector& x_;
  const Vector& direction_;
  Vector point_;
  Vector gradient_;
};

/// f along the path that the bounds bend.
class ProjectedPath : public PathFunction {
 public:
  ProjectedPath(ObjectiveEvaluator* evaluator, const Bounds& bounds, const Vector& x,
                const Vector& gradient, const Vector& direction)
      : evaluator_(evaluator), bounds_(bounds), x_(x), gradient_(gradient), direction_(direction) {}

  bool evaluate(double step, double* value, double* predicted) override {
    const Vector point = bounds_.project(x_ + step * direction_);
    *predicted = gradient_.dot(point - x_);
    return evaluator_->evaluate(point, value, &next_gradient_);
  }

 private:
  ObjectiveEvaluator* evaluator_;
  const Bounds& bounds_;
  const Vector& x_;
  const Vector& gradient_;
  const Vector& direction_;
  Vector next_gradient_;
};

class LineSearchMinimizer {
 public:
  LineSearchMinimizer(Objective* objective, DescentDirection* direction,
                      const MinimizeOptions& options)
      : objective_(objective), evaluator_(objective), method_(direction), options_(options) {
    summary_.method = method_->name();
  }

  Summary run(const Vector& x0) {
    const Stopwatch stopwatch;
    if (begin(x0)) {
      while (may_continue()) {
        compute_direction();
        if (!search_along_direction()) continue;
        method_->update(next_x_ - x_, next_gradient_ - gradient_);
        move();
      }
    }
    summary_.x = x_;
    summary_.objective = value_;
    summary_.function_evaluations = evaluator_.counts().functions;
    summary_.derivative_evaluations = evaluator_.counts().derivatives;
    summary_.evaluation_seconds = evaluator_.counts().seconds;
    summary_.seconds = stopwatch.seconds();
    return std::move(summary_);
  }

 private:
  bool begin(const Vector& x0) {
    x_ = x0;
    std::string error;
    if (!options_.is_valid(&error)) return stop(Termination::kInvalidOptions, error);
    if (x0.size() != objective_->num_parameters()) {
      return stop(Termination::kInvalidOptions,
                  join("x0 has ", x0.size(), " entries, the function has ",
                       objective_->num_parameters(), " parameters"));
    }
    if (!options_.bounds.contains(x0, &error)) return stop(Termination::kInvalidOptions, error);
    if (!evaluator_.evaluate(x_, &value_, &gradient_)) {
      return stop(Termination::kEvaluationFailed, "at the start: " + evaluator_.problem());
    }
    summary_.initial_objective = value_;
    if (options_.check_gradients) {
      const GradientCheckReport report =
          check_gradient(objective_, x_, options_.gradient_check_tolerance);
      if (!report.passed) return stop(Termination::kGradientCheckFailed, report.text);
    }
    finish_iteration({});
    return true;
  }

  bool may_continue() {
    if (summary_.termination != Termination::kNotStarted) return false;
    if (summary_.iterations >= options_.max_iterations) {
      return stop(Termination::kMaxIterations,
                  join("max_iterations = ", options_.max_iterations, " reached"));
    }
    if (evaluator_.counts().functions >= options_.max_evaluations) {
      return stop(Termination::kMaxEvaluations,
                  join("max_evaluations = ", options_.max_evaluations, " reached"));
    }
    return true;
  }

  /// Quasi-Newton in the space of the variables that no bound holds (two-metric projection,
  /// Gafni and Bertsekas, SIAM J. Control Optim. 22, 1984).
  void compute_direction() {
    const Vector free_gradient = options_.bounds.free_gradient(x_, gradient_);
    Vector free;
    if (!options_.bounds.empty()) {
      free = (free_gradient.array() == gradient_.array()).cast<double>();
    }
    method_->compute(free_gradient, free, &direction_);
  }

  LineSearchResult search() {
    const double first_step = method_->first_step(direction_);
    if (options_.bounds.empty()) {
      ObjectiveLine line(&evaluator_, x_, direction_);
      const LinePoint start{.value = value_, .slope = gradient_.dot(direction_)};
      return strong_wolfe_search(&line, start, first_step, options_.line_search);
    }
    ProjectedPath path(&evaluator_, options_.bounds, x_, gradient_, direction_);
    return projected_search(&path, value_, first_step, options_.line_search);
  }

  /// Finds the next point and its gradient. On failure either forgets the curvature, so that the
  /// loop tries the negative gradient next, or stops.
  bool search_along_direction() {
    const LineSearchResult result = search();
    if (result.status == LineSearchStatus::kFailed) {
      if (method_->reset()) return false;
      return stop(Termination::kLineSearchFailed,
                  join("no lower point along the negative gradient after ", result.evaluations,
                       " evaluations (", result.message,
                       "): the gradient is wrong, or f cannot be resolved any further"));
    }
    step_size_ = result.point.step;
    next_x_ = options_.bounds.project(x_ + step_size_ * direction_);
    // Free unless the search settled on a point before the last one it evaluated.
    if (evaluator_.evaluate(next_x_, &next_value_, &next_gradient_)) return true;
    return stop(Termination::kEvaluationFailed,
                "the function gave two different answers for one point: " + evaluator_.problem());
  }

  void move() {
    ++summary_.iterations;
    ++summary_.successful_iterations;
    const IterationRecord record{.iteration = summary_.iterations,
                                 .change = value_ - next_value_,
                                 .step_norm = (next_x_ - x_).norm(),
                                 .step_size = step_size_,
                                 .accepted = true};
    const double scale = std::max({std::abs(value_), std::abs(next_value_), 1.0});
    std::swap(x_, next_x_);
    std::swap(gradient_, next_gradient_);
    value_ = next_value_;
    finish_iteration(record);
    if (summary_.termination == Termination::kNotStarted && options_.function_tolerance > 0 &&
        record.change <= options_.function_tolerance * scale) {
      stop(Termination::kFunctionTolerance,
           join("relative decrease of the objective ", record.change / scale,
                ", function_tolerance ", options_.function_tolerance));
    }
  }

  /// Completes and files the record, tests the gradient, calls the callback.
  void finish_iteration(IterationRecord record) {
    summary_.gradient_norm = options_.bounds.free_gradient(x_, gradient_).lpNorm<Eigen::Infinity>();
    record.objective = value_;
    record.gradient_norm = summary_.gradient_norm;
    record.function_evaluations = evaluator_.counts().functions;
    if (options_.record_iterations) summary_.records.push_back(record);
    if (summary_.gradient_norm <= options_.gradient_tolerance) {
      stop(Termination::kGradientTolerance,
           join("largest gradient entry ", summary_.gradient_norm, ", gradient_tolerance ",
                options_.gradient_tolerance));
    } else if (record.iteration > 0 && options_.callback && options_.callback(record, x_)) {
      stop(Termination::kStoppedByCallback, "the callback asked to stop");
    }
  }

  bool stop(Termination termination, const std::string& message) {
    summary_.termination = termination;
    summary_.message = message;
    return false;
  }

  Objective* objective_;
  ObjectiveEvaluator evaluator_;
  DescentDirection* method_;
  const MinimizeOptions& options_;
  Summary summary_;

  Vector x_;
  double value_ = 0;
  Vector gradient_;
  Vector direction_;
  double step_size_ = 0;
  Vector next_x_;
  double next_value_ = 0;
  Vector next_gradient_;
};

}  // namespace

Summary minimize(Objective* objective, const Vector& x0, const MinimizeOptions& options) {
  const std::unique_ptr<DescentDirection> direction = make_lbfgs(std::max(options.history, 1));
  return minimize(objective, direction.get(), x0, options);
}

Summary minimize(Objective* objective, DescentDirection* direction, const Vector& x0,
                 const MinimizeOptions& options) {
  return LineSearchMinimizer(objective, direction, options).run(x0);
}

}  // namespace wt::optim
