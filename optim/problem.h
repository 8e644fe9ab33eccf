// SPDX-License-Identifier: Apache-2.0
// problem.h: what a user implements to have something minimised. Start reading here.
#pragma once

#include <Eigen/Core>

namespace wt::optim {

using Index = Eigen::Index;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

/// A scalar function f(x) with its gradient, for `minimize`.
///
/// All calls of one minimisation come from the calling thread, one after the other. Exceptions pass
/// through the minimiser unchanged; results computed so far are then lost.
class Objective {
 public:
  virtual ~Objective() = default;

  virtual Index num_parameters() const = 0;

  /// Writes f(x) to `*value` and, unless `gradient` is null, df/dx to `*gradient` (already sized).
  /// Returns false where f is undefined; the minimiser then shortens its step. A NaN or an infinity
  /// among the results is treated in the same way.
  virtual bool evaluate(const Vector& x, double* value, Vector* gradient) = 0;
};

/// A residual vector r(x) of m entries with its m x n Jacobian, for `least_squares`, which
/// minimises 1/2 |r(x)|^2. m may be smaller than n, and the Jacobian may be singular.
class ResidualFunction {
 public:
  virtual ~ResidualFunction() = default;

  virtual Index num_parameters() const = 0;
  virtual Index num_residuals() const = 0;

  /// Writes r(x) to `*residuals` and dr/dx to `*jacobian`, each unless null, both already sized.
  /// The minimiser asks for the Jacobian only at points that it has accepted. Returns false where r
  /// is undefined.
  virtual bool evaluate(const Vector& x, Vector* residuals, Matrix* jacobian) = 0;
};

/// B independent residual functions of equal shape evaluated by one call, for
/// `least_squares_batch`: one kernel launch or one batched tensor program serves all problems.
///
/// Layouts are those of contiguous row-major tensors, so that no copy needs a transpose: column b
/// of each matrix belongs to problem b, and a Jacobian column holds its m x n block row by row.
class BatchResidualFunction {
 public:
  virtual ~BatchResidualFunction() = default;

  virtual Index batch_size() const = 0;
  virtual Index num_parameters() const = 0;
  virtual Index num_residuals() const = 0;

  /// `points` is n x B, a (B, n) tensor. Writes `*residuals`, m x B, and `*jacobians`, (m n) x B, a
  /// (B, m, n) tensor, each unless null. Every call covers all problems, so shapes never change; a
  /// finished problem is evaluated at its final point. A problem that is undefined at its point
  /// reports it by a NaN among its residuals; false fails the whole batch.
  virtual bool evaluate(const Matrix& points, Matrix* residuals, Matrix* jacobians) = 0;
};

}  // namespace wt::optim
