// SPDX-License-Identifier: Apache-2.0
// evaluator.cpp: counting, timing and non-finite detection around the user's function.
#include "optim/evaluator.h"

#include <cmath>

#include "optim/stopwatch.h"
#include "optim/text.h"

namespace wt::optim {
namespace {

/// Adds the life time of the object to `*total`, also when an exception leaves the scope.
class ScopedTimer {
 public:
  explicit ScopedTimer(double* total) : total_(total) {}
  ~ScopedTimer() { *total_ += stopwatch_.seconds(); }

 private:
  double* total_;
  Stopwatch stopwatch_;
};

constexpr char kUndefined[] = "the function reports that it is undefined there";

}  // namespace

bool check_finite(const char* what, const double* values, Index count, Index columns,
                  std::string* problem) {
  for (Index i = 0; i < count; ++i) {
    if (std::isfinite(values[i])) continue;
    *problem = join(what);
    if (columns > 0) {
      const Index rows = count / columns;
      *problem += join("[", i % rows, ", ", i / rows, "]");
    } else if (count > 1) {
      *problem += join("[", i, "]");
    }
    *problem += join(" is ", values[i]);
    return false;
  }
  return true;
}

bool ObjectiveEvaluator::evaluate(const Vector& x, double* value, Vector* gradient) {
  if (!cached_ || cached_x_ != x) {
    cached_ = false;
    cached_x_ = x;
    cached_gradient_.resize(x.size());
    ++counts_.functions;
    ++counts_.derivatives;
    const ScopedTimer timer(&counts_.seconds);
    if (!objective_->evaluate(x, &cached_value_, &cached_gradient_)) {
      problem_ = kUndefined;
      return false;
    }
    if (!check_finite("the objective", &cached_value_, 1, 0, &problem_) ||
        !check_finite("gradient", cached_gradient_.data(), x.size(), 0, &problem_)) {
      return false;
    }
    cached_ = true;
  }
  *value = cached_value_;
  *gradient = cached_gradient_;
  return true;
}

bool ResidualEvaluator::residuals(const Vector& x, Vector* residuals) {
  residuals->resize(function_->num_residuals());
  ++counts_.functions;
  const ScopedTimer timer(&counts_.seconds);
  if (!function_->evaluate(x, residuals, nullptr)) {
    problem_ = kUndefined;
    return false;
  }
  return check_finite("residual", residuals->data(), residuals->size(), 0, &problem_);
}

bool ResidualEvaluator::jacobian(const Vector& x, Matrix* jacobian) {
  jacobian->resize(function_->num_residuals(), function_->num_parameters());
  ++counts_.derivatives;
  const ScopedTimer timer(&counts_.seconds);
  if (!function_->evaluate(x, nullptr, jacobian)) {
    problem_ = kUndefined;
    return false;
  }
  return check_finite("jacobian", jacobian->data(), jacobian->size(), jacobian->cols(), &problem_);
}

}  // namespace wt::optim
