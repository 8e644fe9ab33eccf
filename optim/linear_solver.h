// SPDX-License-Identifier: Apache-2.0
// linear_solver.h: damped linear least squares, the linear algebra of a trust region step.
#pragma once

#include <memory>

#include "optim/options.h"

namespace wt::optim {

/// Solves min_q |A q + b|^2 + alpha |q|^2 for one A and b and several alpha >= 0.
///
/// A is m x n of any shape and rank. With alpha = 0 and a singular A, a direct solver returns the
/// shortest minimiser or reports failure; it never returns a huge or non-finite q as a success.
class RidgeSolver {
 public:
  virtual ~RidgeSolver() = default;

  /// Both are copied or reduced; the caller may change them afterwards.
  virtual void prepare(const Matrix& a, const Vector& b) = 0;
  /// False if the system could not be solved; `*q` is then unspecified.
  virtual bool solve(double alpha, Vector* q) = 0;
  /// v' (A'A + alpha I)^-1 v for the alpha of the last successful solve.
  virtual double inverse_form(const Vector& v) = 0;
  /// True if A has full column rank to working precision, as found by solve(0, ...).
  virtual bool has_full_rank() const = 0;
};

std::unique_ptr<RidgeSolver> make_linear_solver(const LeastSquaresOptions& options);

}  // namespace wt::optim
