// SPDX-License-Identifier: Apache-2.0
// line_search.cpp: strong Wolfe search, Nocedal & Wright algorithms 3.5 and 3.6.
#include "optim/line_search.h"
#include "optim/text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wt::optim {
namespace {

/// A trial keeps at least this fraction of the bracket from either end, and a bracket that shrinks
/// by less than kShrink in a step is bisected next: both make the bracket converge.
constexpr double kMargin = 0.05;
constexpr double kShrink = 0.66;
/// From an undefined point, go this fraction of the way back towards the good end.
constexpr double kRetreat = 0.25;

class StrongWolfeSearch {
 public:
  StrongWolfeSearch(LineFunction* function, const LinePoint& start,
                    const LineSearchOptions& options)
      : function_(function),
        start_(start),
        options_(options),
        noise_(options.function_noise * std::abs(start.value)) {}

  LineSearchResult run(double first_step) {
    if (!(start_.slope < 0)) {
      result_.message =
          join("the direction does not descend: slope ", start_.slope, " at the start");
      return result_;
    }
    bracket(first_step);
    return result_;
  }

 private:
  /// Algorithm 3.5. The loop leaves as soon as an interval with Wolfe points is known.
  void bracket(double first_step) {
    LinePoint previous = start_;
    double step = std::min(first_step, options_.max_step);
    while (may_evaluate(previous)) {
      const LinePoint current = evaluate(step);
      if (!decreases_enough(current) || (previous.step > 0 && !is_below(current, previous))) {
        return zoom(previous, current);
      }
      if (is_flat(current)) return finish(LineSearchStatus::kWolfe, current);
      if (current.slope >= 0) return zoom(current, previous);
      if (current.step >= options_.max_step) {
        return finish(LineSearchStatus::kDecrease, current);
      }
      step = expand(previous, current);
      previous = current;
    }
  }

  /// Algorithm 3.6. `low` has the lowest value seen with sufficient decrease (or is the start) and
  /// its slope points into the interval; `high` is the other end.
  void zoom(LinePoint low, LinePoint high) {
    double last_width = std::numeric_limits<double>::infinity();
    while (may_evaluate(low)) {
      const double width = std::abs(high.step - low.step);
      if (width <= std::numeric_limits<double>::epsilon() * std::max(high.step, low.step)) {
        return give_up(low, "the bracket shrank to rounding error");
      }
      const LinePoint trial = evaluate(interpolate(low, high, width > kShrink * last_width));
      last_width = width;
      if (!decreases_enough(trial) || !is_below(trial, low)) {
        high = trial;
        continue;
      }
      if (is_flat(trial)) return finish(LineSearchStatus::kWolfe, trial);
      if (trial.slope * (high.step - low.step) >= 0) high = low;
      low = trial;
    }
  }

  double expand(const LinePoint& previous, const LinePoint& current) const {
    const double least = current.step + (current.step - previous.step);
    const double most = std::max(least, options_.max_expansion * current.step);
    const double cubic = cubic_minimizer(previous, current);
    const double step = cubic > current.step ? std::clamp(cubic, least, most) : most;
    return std::min(step, options_.max_step);
  }

  static double interpolate(const LinePoint& low, const LinePoint& high, bool bisect) {
    const double width = high.step - low.step;
    if (!high.valid) return low.step + kRetreat * width;
    const double cubic = bisect ? 0.5 : (cubic_minimizer(low, high) - low.step) / width;
    return low.step +
           width * (std::isfinite(cubic) ? std::clamp(cubic, kMargin, 1 - kMargin) : 0.5);
  }

  /// (3.7a), or its approximate form where f changes by less than its rounding error.
  bool decreases_enough(const LinePoint& point) const {
    if (!point.valid) return false;
    const double c1 = options_.sufficient_decrease;
    if (point.value <= start_.value + c1 * point.step * start_.slope) return true;
    return std::abs(point.value - start_.value) <= noise_ &&
           point.slope <= (2 * c1 - 1) * start_.slope;
  }

  bool is_below(const LinePoint& point, const LinePoint& other) const {
    return point.value < other.value + noise_;
  }

  /// (3.7b)
  bool is_flat(const LinePoint& point) const {
    return std::abs(point.slope) <= -options_.curvature * start_.slope;
  }

  LinePoint evaluate(double step) {
    LinePoint point{.step = step};
    point.valid = function_->evaluate(step, &point.value, &point.slope);
    ++result_.evaluations;
    return point;
  }

  bool may_evaluate(const LinePoint& best) {
    if (result_.evaluations < options_.max_line_search_evaluations) return true;
    give_up(best, "max_line_search_evaluations reached");
    return false;
  }

  void finish(LineSearchStatus status, const LinePoint& point) {
    result_.status = status;
    result_.point = point;
  }

  void give_up(const LinePoint& best, const char* reason) {
    const bool lower = best.step > 0 && best.value < start_.value;
    finish(lower ? LineSearchStatus::kDecrease : LineSearchStatus::kFailed, best);
    result_.message = reason;
  }

  LineFunction* function_;
  const LinePoint start_;
  const LineSearchOptions& options_;
  const double noise_;
  LineSearchResult result_;
};

}  // namespace

double cubic_minimizer(const LinePoint& a, const LinePoint& b) {
  const double d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step);
  const double square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return std::numeric_limits<double>::quiet_NaN();
  const double d2 = std::copysign(std::sqrt(square), b.step - a.step);
  return b.step - (b.step - a.step) * (b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2);
}

LineSearchResult strong_wolfe_search(LineFunction* function, const LinePoint& start,
                                     double first_step, const LineSearchOptions& options) {
  return StrongWolfeSearch(function, start, options).run(first_step);
}

LineSearchResult projected_search(PathFunction* path, double value, double first_step,
                                  const LineSearchOptions& options) {
  const double noise = options.function_noise * std::abs(value);
  LineSearchResult result;
  LinePoint& point = result.point;
  point.step = std::min(first_step, options.max_step);
  while (result.evaluations < options.max_line_search_evaluations) {
    double predicted = 0;
    point.valid = path->evaluate(point.step, &point.value, &predicted);
    ++result.evaluations;
    const double change = point.value - value;
    if (point.valid && predicted < 0 && change <= options.sufficient_decrease * predicted + noise) {
      result.status = LineSearchStatus::kDecrease;
      return result;
    }
    // The parabola through f(x), its slope and the new value has its minimum at this fraction.
    const double fraction = 0.5 * predicted / (predicted - change);
    point.step *=
        point.valid && std::isfinite(fraction) ? std::clamp(fraction, 0.1, 0.5) : kRetreat;
  }
  result.message = "max_line_search_evaluations reached";
  return result;
}

}  // namespace wt::optim
