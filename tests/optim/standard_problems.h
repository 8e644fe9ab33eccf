// SPDX-License-Identifier: Apache-2.0
// standard_problems.h: unconstrained test problems with known minima.
#pragma once

#include <complex>
#include <functional>
#include <string>
#include <vector>

#include "optim/problem.h"

namespace wt::optim::testing {

using Complex = std::complex<double>;
using ComplexVector = Eigen::VectorXcd;

/// Problems of J. J. More, B. S. Garbow, K. E. Hillstrom, Testing unconstrained optimization
/// software, ACM TOMS 7 (1981), by their numbers there, from the standard starting points.
struct StandardProblem {
  std::string name;
  Index num_residuals;
  Vector start;
  std::vector<double> minima;  ///< values of |r|^2 at the known minimisers
  std::function<ComplexVector(const ComplexVector&)> residuals;
};

const std::vector<StandardProblem>& standard_problems();
const StandardProblem& standard_problem(const std::string& name);

/// True if |r|^2 = `value` agrees with one of the minima to four digits (absolute 1e-4 for zero).
bool is_solved(const StandardProblem& problem, double value);

/// Residuals with a Jacobian by the complex step, exact to rounding: J_j = Im r(x + i h e_j) / h.
class StandardResiduals : public ResidualFunction {
 public:
  explicit StandardResiduals(const StandardProblem& problem) : problem_(problem) {}
  Index num_parameters() const override { return problem_.start.size(); }
  Index num_residuals() const override { return problem_.num_residuals; }
  bool evaluate(const Vector& x, Vector* residuals, Matrix* jacobian) override;

 private:
  const StandardProblem& problem_;
};

/// f = |r|^2 with its gradient 2 J'r.
class SumOfSquares : public Objective {
 public:
  explicit SumOfSquares(const StandardProblem& problem) : residuals_(problem) {}
  Index num_parameters() const override { return residuals_.num_parameters(); }
  bool evaluate(const Vector& x, double* value, Vector* gradient) override;

 private:
  StandardResiduals residuals_;
};

}  // namespace wt::optim::testing
