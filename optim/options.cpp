// SPDX-License-Identifier: Apache-2.0
// options.cpp: validation of the options and the names of their enumerations.
#include "optim/options.h"

#include <sstream>

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
    std::ostringstream text;
    text << "option " << name << " = " << value << " " << rule;
    error_ = text.str();
  }

  bool finish(std::string* error) const {
    if (error != nullptr) *error = error_;
    return error_.empty();
  }

 private:
  std::string error_;
};

}  // namespace

bool MinimizeOptions::is_valid(std::string* error) const {
  Validator validator;
  visit_minimize_options(*this, validator);
  if (!(line_search.curvature > line_search.sufficient_decrease)) {
    std::ostringstream rule;
    rule << "must be > sufficient_decrease = " << line_search.sufficient_decrease;
    validator.report("curvature", line_search.curvature, rule.str());
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
