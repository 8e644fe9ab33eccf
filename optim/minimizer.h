// SPDX-License-Identifier: Apache-2.0
// minimizer.h: the entry points. None of them throws for want of convergence: read the Summary.
#pragma once

#include <vector>

#include "optim/options.h"
#include "optim/problem.h"
#include "optim/strategy.h"
#include "optim/summary.h"

namespace wt::optim {

/// Minimises f by L-BFGS with a strong Wolfe line search, from x0.
Summary minimize(Objective* objective, const Vector& x0, const MinimizeOptions& options = {});

/// The same loop with another choice of direction.
Summary minimize(Objective* objective, DescentDirection* direction, const Vector& x0,
                 const MinimizeOptions& options);

/// Minimises 1/2 |r(x)|^2 by Levenberg-Marquardt or Gauss-Newton, from x0.
Summary least_squares(ResidualFunction* function, const Vector& x0,
                      const LeastSquaresOptions& options = {});

/// The same for B independent problems, column b of `x0` being the start of problem b. Each pass
/// makes one batched evaluation of the residuals and, if any step was accepted, one of the
/// Jacobians. Every problem follows the very iterates that `least_squares` would give it alone. The
/// callback, if any, sees the records of all problems.
std::vector<Summary> least_squares_batch(BatchResidualFunction* function, const Matrix& x0,
                                         const LeastSquaresOptions& options = {});

}  // namespace wt::optim
