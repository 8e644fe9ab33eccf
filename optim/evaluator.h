// SPDX-License-Identifier: Apache-2.0
// evaluator.h: the only place that calls the user's function: counts, times, caches and checks.
#pragma once

#include <string>

#include "optim/problem.h"

namespace wt::optim {

/// Totals of one minimisation.
struct EvaluationCounts {
  int functions = 0;    ///< calls that computed f or r
  int derivatives = 0;  ///< calls that computed a gradient or a Jacobian
  double seconds = 0;   ///< wall time inside the user's function
};

/// Evaluates an Objective. Asking again for the last point costs nothing.
class ObjectiveEvaluator {
 public:
  /// `objective` must outlive the evaluator.
  explicit ObjectiveEvaluator(Objective* objective) : objective_(objective) {}

  /// f and gradient at x. False if the function is undefined there or returned a value that is not
  /// finite; `problem()` then says what.
  bool evaluate(const Vector& x, double* value, Vector* gradient);

  const EvaluationCounts& counts() const { return counts_; }
  const std::string& problem() const { return problem_; }

 private:
  Objective* objective_;
  EvaluationCounts counts_;
  std::string problem_;
  bool cached_ = false;
  Vector cached_x_;
  double cached_value_ = 0;
  Vector cached_gradient_;
};

/// Evaluates a ResidualFunction. Residuals and Jacobian are asked for apart, as the trust region
/// loop needs the Jacobian only at accepted points.
class ResidualEvaluator {
 public:
  /// `function` must outlive the evaluator.
  explicit ResidualEvaluator(ResidualFunction* function) : function_(function) {}

  bool residuals(const Vector& x, Vector* residuals);
  bool jacobian(const Vector& x, Matrix* jacobian);

  const EvaluationCounts& counts() const { return counts_; }
  const std::string& problem() const { return problem_; }

 private:
  ResidualFunction* function_;
  EvaluationCounts counts_;
  std::string problem_;
};

/// True if all `count` values are finite; else writes e.g. "gradient[3] is nan" to `*problem`.
/// `columns` > 0 prints a row and a column index of a column-major matrix with that many columns.
bool check_finite(const char* what, const double* values, Index count, Index columns,
                  std::string* problem);

}  // namespace wt::optim
