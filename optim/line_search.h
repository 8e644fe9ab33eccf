// SPDX-License-Identifier: Apache-2.0
// line_search.h: step length along a descent direction by the strong Wolfe conditions.
#pragma once

#include <string>

#include "optim/options.h"

namespace wt::optim {

/// phi(a) = f(x + a d) as a function of the step length a alone, so that the search can be tested
/// with no minimiser around it.
class LineFunction {
 public:
  virtual ~LineFunction() = default;

  /// Writes phi(a) and phi'(a). False where f is undefined or not finite.
  virtual bool evaluate(double step, double* value, double* slope) = 0;
};

/// One evaluated step length.
struct LinePoint {
  double step = 0;
  double value = 0;
  double slope = 0;
  bool valid = true;  ///< false where phi is undefined; value and slope then mean nothing
};

enum class LineSearchStatus {
  kWolfe,     ///< both conditions hold at `point`
  kDecrease,  ///< only sufficient decrease holds: usable, without a curvature guarantee
  kFailed,    ///< no step with sufficient decrease was found
};

struct LineSearchResult {
  LineSearchStatus status = LineSearchStatus::kFailed;
  LinePoint point;
  int evaluations = 0;
  std::string message;  ///< why it failed
};

/// Algorithms 3.5 (bracketing) and 3.6 (zoom) of Nocedal & Wright, Numerical Optimization, 2nd ed.,
/// with the cubic interpolation of their equation (3.59). `start` is the point at step 0, whose
/// slope must be negative; `first_step` > 0 is the first trial.
LineSearchResult strong_wolfe_search(LineFunction* function, const LinePoint& start,
                                     double first_step, const LineSearchOptions& options);

/// f along the path P(x + a d) that bends at bounds, for projected_search.
class PathFunction {
 public:
  virtual ~PathFunction() = default;

  /// Writes f and g'(P(x + a d) - x), g being the gradient at x. False where f is undefined.
  virtual bool evaluate(double step, double* value, double* predicted) = 0;
};

/// Backtracks from `first_step` until f(P(x + a d)) <= f(x) + c1 g'(P(x + a d) - x), Bertsekas,
/// Projected Newton methods for optimization problems with simple constraints, SIAM J. Control
/// Optim. 20 (1982). On a bent path the curvature condition has no meaning, so a success is
/// kDecrease. `point.slope` is left at zero.
LineSearchResult projected_search(PathFunction* path, double value, double first_step,
                                  const LineSearchOptions& options);

/// The local minimiser of the cubic through values and slopes at `a` and `b`, (3.59); NaN if the
/// cubic has none.
double cubic_minimizer(const LinePoint& a, const LinePoint& b);

}  // namespace wt::optim
