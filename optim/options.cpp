// SPDX-License-Identifier: Apache-2.0
// options.cpp: validation of the options and the names of their enumerations.
#include "optim/options.h"

#include "optim/text.h"

namespace wt::optim {
namespace {

/// Keeps the first broken rule as "name = value must be ...".
class Validator {
 public:
  template <typename T>
  void operator()(std::string_view name, const T& value, const OptionRule& rule) {
    if (!rule.holds(static_cast<double>(value))) report(name, value, rule.text);
  }

  template <typename T>
  void operator()(std::string_view, const T&) {}

  template <typename T>
  void report(std::string_view name, const T& value, std::string_view rule) {
    if (!error_.empty()) return;
    error_ = join("option ", name, " = ", value, " ", rule);
  }

  bool finish(std::string* error) const {
    if (error != nullptr) *error = error_;
    return error_.empty();
  }

 private:
  std::string error_;
};

}  // namespace

Vector Bounds::project(const Vector& x) const {
  return empty() ? x : x.cwiseMax(lower).cwiseMin(upper).eval();
}

Vector Bounds::free_gradient(const Vector& x, const Vector& gradient) const {
  if (empty()) return gradient;
  const auto held = (x.array() <= lower.array() && gradient.array() > 0) ||
                    (x.array() >= upper.array() && gradient.array() < 0);
  return held.select(0.0, gradient);
}

bool Bounds::contains(const Vector& x, std::string* error) const {
  error->clear();
  if (empty()) return true;
  if (lower.size() != x.size() || upper.size() != x.size()) {
    *error =
        join("bounds have ", lower.size(), " and ", upper.size(), " entries, x0 has ", x.size());
    return false;
  }
  for (Index i = 0; i < x.size() && error->empty(); ++i) {
    if (!(lower[i] <= upper[i])) {
      *error = join("bounds[", i, "]: lower = ", lower[i], " must be <= upper = ", upper[i]);
    } else if (!(x[i] >= lower[i] && x[i] <= upper[i])) {
      *error =
          join("x0[", i, "] = ", x[i], " must lie within its bounds ", lower[i], " and ", upper[i]);
    }
  }
  return error->empty();
}

bool MinimizeOptions::is_valid(std::string* error) const {
  Validator validator;
  visit_minimize_options(*this, validator);
  if (!(line_search.curvature > line_search.sufficient_decrease)) {
    validator.report("curvature", line_search.curvature,
                     join("must be > sufficient_decrease = ", line_search.sufficient_decrease));
  }
  return validator.finish(error);
}

bool LeastSquaresOptions::is_valid(std::string* error) const {
  Validator validator;
  visit_least_squares_options(*this, validator);
  return validator.finish(error);
}

std::string_view linear_solver_name(LinearSolverKind kind) {
  switch (kind) {
    case LinearSolverKind::kQr:
      return "qr";
    case LinearSolverKind::kCholesky:
      return "cholesky";
    case LinearSolverKind::kConjugateGradient:
      return "cg";
  }
  return "unknown";
}

bool parse_linear_solver(std::string_view name, LinearSolverKind* kind) {
  for (LinearSolverKind candidate :
       {LinearSolverKind::kQr, LinearSolverKind::kCholesky, LinearSolverKind::kConjugateGradient}) {
    if (linear_solver_name(candidate) != name) continue;
    *kind = candidate;
    return true;
  }
  return false;
}

std::string_view method_name(LeastSquaresMethod method) {
  return method == LeastSquaresMethod::kGaussNewton ? "gauss_newton" : "levenberg_marquardt";
}

bool parse_method(std::string_view name, LeastSquaresMethod* method) {
  if (name == "lm" || name == "levenberg_marquardt") {
    *method = LeastSquaresMethod::kLevenbergMarquardt;
  } else if (name == "gn" || name == "gauss_newton") {
    *method = LeastSquaresMethod::kGaussNewton;
  } else {
    return false;
  }
  return true;
}

}  // namespace wt::optim
