// SPDX-License-Identifier: Apache-2.0
// gradient_check.h: compares a user's derivatives with finite differences.
#pragma once

#include <string>

#include "optim/problem.h"

namespace wt::optim {

struct GradientCheckReport {
  bool passed = false;
  /// Largest |given - numeric| divided by the largest |numeric| entry of its row (or 1e-8 times the
  /// function's own size, if larger, since differences cannot resolve less).
  double max_relative_error = 0;
  Index row = 0;  ///< of the worst entry; 0 for a gradient
  Index parameter = 0;
  double given = 0;    ///< the user's value there
  double numeric = 0;  ///< the finite difference
  std::string text;    ///< one sentence: passed or the worst entry
};

/// Checks the gradient of f at x against central differences of fourth order (4 n evaluations).
GradientCheckReport check_gradient(Objective* objective, const Vector& x, double tolerance = 1e-6);

/// The same for a Jacobian.
GradientCheckReport check_jacobian(ResidualFunction* function, const Vector& x,
                                   double tolerance = 1e-6);

}  // namespace wt::optim
