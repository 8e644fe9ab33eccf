// SPDX-License-Identifier: Apache-2.0
// options.h: every knob of the optimisers, with its default and the reason for it.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "optim/summary.h"

namespace wt::optim {

/// Called after every iteration with its record and the current point; true stops the loop.
using IterationCallback = std::function<bool(const IterationRecord&, const Vector& x)>;

/// Factorisation behind a Gauss-Newton or Levenberg-Marquardt step.
enum class LinearSolverKind {
  kQr,                 ///< Householder QR of the Jacobian: accurate, O(m n^2)
  kCholesky,           ///< normal equations: half the work for m >> n, squares the condition number
  kConjugateGradient,  ///< normal equations, products only: for large n
};

/// lower_i <= x_i <= upper_i. Empty vectors mean no bounds; entries may be infinite.
struct Bounds {
  Vector lower;
  Vector upper;

  bool empty() const { return lower.size() == 0 && upper.size() == 0; }
  /// The point of the box closest to x.
  Vector project(const Vector& x) const;
  /// `gradient` without the entries that push against a bound that x lies on: zero at a solution.
  Vector free_gradient(const Vector& x, const Vector& gradient) const;
  /// True if the box is not empty and holds x; otherwise says which entry is at fault.
  bool contains(const Vector& x, std::string* error) const;
};

/// Options that both minimisers share.
struct CommonOptions {
  int max_iterations = 1000;      ///< passes of the loop
  int max_evaluations = 15000;    ///< calls of the user's function
  bool record_iterations = true;  ///< fill Summary::records

  /// Compare the derivatives at the start with central differences and refuse to go on if they
  /// differ by more than `gradient_check_tolerance` (relative to the largest entry).
  bool check_gradients = false;
  double gradient_check_tolerance = 1e-6;

  /// Every point that is evaluated lies within; the start must. No bounds by default.
  Bounds bounds;
};

/// Strong Wolfe search; symbols as in Nocedal & Wright, Numerical Optimization, 2nd ed., (3.7).
struct LineSearchOptions {
  double sufficient_decrease = 1e-4;  ///< c1: f(x + a d) <= f(x) + c1 a f'(x) d
  double curvature = 0.9;             ///< c2: |f'(x + a d) d| <= c2 |f'(x) d|; 0.9 suits L-BFGS
  double max_expansion = 10.0;        ///< a grows by at most this factor between two trials
  double max_step = 1e20;             ///< largest a ever tried
  int max_line_search_evaluations = 20;

  /// Relative rounding error of f. Differences below it are not read as an increase: the slope
  /// decides there (Hager & Zhang 2005, "approximate Wolfe"). Set 1e-6 for a float32 function.
  double function_noise = 1e-15;
};

/// Options of `minimize`.
struct MinimizeOptions : CommonOptions {
  /// Converged when the largest gradient entry is at most this: max_i |g_i| <= gradient_tolerance,
  /// entries that push against an active bound left out.
  double gradient_tolerance = 1e-6;
  /// Converged when f_k - f_{k+1} <= function_tolerance * max(|f_k|, |f_{k+1}|, 1). 0: never.
  double function_tolerance = 1e-12;
  /// Number of (step, gradient change) pairs kept. 10 pairs cost 20 vectors of memory.
  int history = 10;
  LineSearchOptions line_search;
  IterationCallback callback;

  /// True when every option obeys its rule. Otherwise writes name, value and broken rule.
  bool is_valid(std::string* error) const;
};

enum class LeastSquaresMethod { kLevenbergMarquardt, kGaussNewton };

/// Options of `least_squares` and `least_squares_batch`. Relative reductions are those of |r|^2.
struct LeastSquaresOptions : CommonOptions {
  LeastSquaresMethod method = LeastSquaresMethod::kLevenbergMarquardt;
  LinearSolverKind linear_solver = LinearSolverKind::kQr;

  /// Converged when both the actual and the predicted relative reduction are at most this.
  double function_tolerance = 1e-8;
  /// Converged when the trust region is smaller than this times |x|, both in scaled variables.
  double step_tolerance = 1e-8;
  /// Converged when the cosine between r and every Jacobian column is at most this. It measures
  /// the angle, not the size, so it does not depend on units. 1e-10 leaves the other two to decide.
  double gradient_tolerance = 1e-10;

  /// First radius = initial_radius_factor * |x0| in scaled variables (or the factor if x0 = 0).
  double initial_radius_factor = 100.0;
  /// A step is accepted if actual / predicted reduction exceeds this.
  double min_gain_ratio = 1e-4;

  double cg_tolerance = 1e-12;  ///< conjugate gradients: relative residual of the normal equations
  int cg_max_iterations = 0;    ///< conjugate gradients: 0 means 2 n + 10
  IterationCallback callback;

  bool is_valid(std::string* error) const;
};

/// Range of a numeric option; `text` is the rule as the error message prints it.
struct OptionRule {
  double low;
  double high;
  bool open_low;
  bool open_high;
  std::string_view text;

  /// False for NaN.
  bool holds(double value) const {
    return (open_low ? value > low : value >= low) && (open_high ? value < high : value <= high);
  }
};

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();
inline constexpr OptionRule kNotNegative{0, kUnbounded, false, true, "must be >= 0 and finite"};
inline constexpr OptionRule kPositive{0, kUnbounded, true, true, "must be > 0 and finite"};
inline constexpr OptionRule kAtLeastOne{1, kUnbounded, false, true, "must be >= 1"};
inline constexpr OptionRule kAboveOne{1, kUnbounded, true, true, "must be > 1 and finite"};
inline constexpr OptionRule kInsideUnit{0, 1, true, true, "must be > 0 and < 1"};
inline constexpr OptionRule kBelowOne{0, 1, false, true, "must be >= 0 and < 1"};

/// Calls visit(name, member, rule) for each option: the one list behind validation and the keyword
/// arguments of Python. Enumerations and flags are visited as visit(name, member).
template <typename Options, typename Visitor>
void visit_common_options(Options& options, Visitor&& visit) {
  visit("max_iterations", options.max_iterations, kNotNegative);
  visit("max_evaluations", options.max_evaluations, kAtLeastOne);
  visit("record_iterations", options.record_iterations);
  visit("check_gradients", options.check_gradients);
  visit("gradient_check_tolerance", options.gradient_check_tolerance, kPositive);
}

template <typename Options, typename Visitor>
void visit_minimize_options(Options& options, Visitor&& visit) {
  visit_common_options(options, visit);
  visit("gradient_tolerance", options.gradient_tolerance, kNotNegative);
  visit("function_tolerance", options.function_tolerance, kNotNegative);
  visit("history", options.history, kAtLeastOne);
  visit("sufficient_decrease", options.line_search.sufficient_decrease, kInsideUnit);
  visit("curvature", options.line_search.curvature, kInsideUnit);
  visit("max_expansion", options.line_search.max_expansion, kAboveOne);
  visit("max_step", options.line_search.max_step, kPositive);
  visit("max_line_search_evaluations", options.line_search.max_line_search_evaluations,
        kAtLeastOne);
  visit("function_noise", options.line_search.function_noise, kBelowOne);
}

template <typename Options, typename Visitor>
void visit_least_squares_options(Options& options, Visitor&& visit) {
  visit_common_options(options, visit);
  visit("linear_solver", options.linear_solver);
  visit("function_tolerance", options.function_tolerance, kNotNegative);
  visit("step_tolerance", options.step_tolerance, kNotNegative);
  visit("gradient_tolerance", options.gradient_tolerance, kNotNegative);
  visit("initial_radius_factor", options.initial_radius_factor, kPositive);
  visit("min_gain_ratio", options.min_gain_ratio, kBelowOne);
  visit("cg_tolerance", options.cg_tolerance, kPositive);
  visit("cg_max_iterations", options.cg_max_iterations, kNotNegative);
}

std::string_view linear_solver_name(LinearSolverKind kind);
/// False if `name` is none of qr, cholesky, cg.
bool parse_linear_solver(std::string_view name, LinearSolverKind* kind);

std::string_view method_name(LeastSquaresMethod method);
/// False if `name` is neither levenberg_marquardt (or lm) nor gauss_newton (or gn).
bool parse_method(std::string_view name, LeastSquaresMethod* method);

}  // namespace wt::optim
