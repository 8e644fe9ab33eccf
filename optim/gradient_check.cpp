// SPDX-License-Identifier: Apache-2.0
// gradient_check.cpp: fourth-order central differences against given derivatives.
#include "optim/gradient_check.h"
#include "optim/text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace wt::optim {
namespace {

/// Writes the function's values at a point; false where it is undefined.
using Values = std::function<bool(const Vector& x, Vector* values)>;

GradientCheckReport fail(const std::string& text) {
  GradientCheckReport report;
  report.max_relative_error = std::numeric_limits<double>::infinity();
  report.text = "gradient check: " + text;
  return report;
}

/// (f(x-2h) - 8 f(x-h) + 8 f(x+h) - f(x+2h)) / 12h. The step balances the h^4 truncation error
/// against rounding, epsilon / h.
bool differentiate(const Values& values, const Vector& x, Index rows, Matrix* numeric) {
  const double relative = std::pow(std::numeric_limits<double>::epsilon(), 0.2);
  numeric->resize(rows, x.size());
  Vector point = x;
  Vector far_below(rows), below(rows), above(rows), far_above(rows);
  for (Index j = 0; j < x.size(); ++j) {
    const double wanted = relative * std::max(std::abs(x[j]), 1e-2);
    const double h = (x[j] + wanted) - x[j];  // exactly representable
    const auto at = [&](double shift, Vector* out) {
      point[j] = x[j] + shift;
      return values(point, out) && out->allFinite();
    };
    if (!at(-2 * h, &far_below) || !at(-h, &below) || !at(h, &above) || !at(2 * h, &far_above)) {
      return false;
    }
    point[j] = x[j];
    numeric->col(j) = ((far_below - far_above) + 8 * (above - below)) / (12 * h);
  }
  return true;
}

GradientCheckReport compare(const Values& values, const Vector& x, const Matrix& given,
                            double tolerance) {
  if (!given.allFinite()) return fail("the given derivatives are not finite");
  Matrix numeric;
  Vector size(given.rows());
  if (!values(x, &size) || !differentiate(values, x, given.rows(), &numeric)) {
    return fail("the function is undefined at or beside the point");
  }
  GradientCheckReport report;
  for (Index i = 0; i < given.rows(); ++i) {
    const double scale = std::max({numeric.row(i).cwiseAbs().maxCoeff(), 1e-8 * std::abs(size[i]),
                                   std::numeric_limits<double>::min()});
    for (Index j = 0; j < given.cols(); ++j) {
      const double error = std::abs(given(i, j) - numeric(i, j)) / scale;
      if (error <= report.max_relative_error && (i > 0 || j > 0)) continue;
      report.max_relative_error = error;
      report.row = i;
      report.parameter = j;
      report.given = given(i, j);
      report.numeric = numeric(i, j);
    }
  }
  report.passed = report.max_relative_error <= tolerance;
  report.text =
      join("gradient check ", report.passed ? "passed" : "failed", ": worst at parameter ",
           report.parameter, " of output ", report.row, ", given ", number(report.given, 10),
           ", finite difference ", number(report.numeric, 10), ", relative error ",
           number(report.max_relative_error, 10), ", tolerance ", number(tolerance, 10));
  return report;
}

}  // namespace

GradientCheckReport check_gradient(Objective* objective, const Vector& x, double tolerance) {
  Vector gradient(x.size());
  double value = 0;
  if (!objective->evaluate(x, &value, &gradient)) {
    return fail("the function is undefined at the point");
  }
  const Values values = [objective](const Vector& point, Vector* out) {
    return objective->evaluate(point, out->data(), nullptr);
  };
  return compare(values, x, gradient.transpose(), tolerance);
}

GradientCheckReport check_jacobian(ResidualFunction* function, const Vector& x, double tolerance) {
  Matrix jacobian(function->num_residuals(), x.size());
  if (!function->evaluate(x, nullptr, &jacobian)) {
    return fail("the function is undefined at the point");
  }
  const Values values = [function](const Vector& point, Vector* out) {
    return function->evaluate(point, out, nullptr);
  };
  return compare(values, x, jacobian, tolerance);
}

}  // namespace wt::optim
