// SPDX-License-Identifier: Apache-2.0
// fakes.h: problems made of lambdas, for the tests of the optimisers.
#pragma once

#include <functional>
#include <utility>

#include "optim/problem.h"

namespace wt::optim::testing {

class FakeObjective : public Objective {
 public:
  using Function = std::function<bool(const Vector&, double*, Vector*)>;
  FakeObjective(Index parameters, Function function)
      : parameters_(parameters), function_(std::move(function)) {}
  Index num_parameters() const override { return parameters_; }
  bool evaluate(const Vector& x, double* value, Vector* gradient) override {
    ++calls;
    return function_(x, value, gradient);
  }
  int calls = 0;

 private:
  Index parameters_;
  Function function_;
};

class FakeResiduals : public ResidualFunction {
 public:
  using Function = std::function<bool(const Vector&, Vector*, Matrix*)>;
  FakeResiduals(Index parameters, Index residuals, Function function)
      : parameters_(parameters), residuals_(residuals), function_(std::move(function)) {}
  Index num_parameters() const override { return parameters_; }
  Index num_residuals() const override { return residuals_; }
  bool evaluate(const Vector& x, Vector* residuals, Matrix* jacobian) override {
    residual_calls += residuals != nullptr;
    jacobian_calls += jacobian != nullptr;
    return function_(x, residuals, jacobian);
  }
  int residual_calls = 0;
  int jacobian_calls = 0;

 private:
  Index parameters_;
  Index residuals_;
  Function function_;
};

/// r = A x - b.
inline FakeResiduals linear_residuals(const Matrix& a, const Vector& b) {
  return FakeResiduals(a.cols(), a.rows(), [a, b](const Vector& x, Vector* r, Matrix* j) {
    if (r != nullptr) *r = a * x - b;
    if (j != nullptr) *j = a;
    return true;
  });
}

/// f = 1/2 x' diag(d) x - b'x, minimum at x_i = b_i / d_i.
inline FakeObjective diagonal_quadratic(const Vector& d, const Vector& b) {
  return FakeObjective(d.size(), [d, b](const Vector& x, double* value, Vector* gradient) {
    *value = 0.5 * x.dot(d.cwiseProduct(x)) - b.dot(x);
    if (gradient != nullptr) *gradient = d.cwiseProduct(x) - b;
    return true;
  });
}

}  // namespace wt::optim::testing
