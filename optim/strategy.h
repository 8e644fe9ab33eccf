// SPDX-License-Identifier: Apache-2.0
// strategy.h: the two places where a method differs from its loop: direction, and trust region
// step.
#pragma once

#include <memory>
#include <string_view>

#include "optim/options.h"

namespace wt::optim {

/// Chooses the direction of a line search method.
class DescentDirection {
 public:
  virtual ~DescentDirection() = default;

  virtual std::string_view name() const = 0;
  /// Writes a direction d with g'd < 0 for g != 0, in the space of the variables whose entry of
  /// `free` is 1: gradient and d are zero in the others (0), which bounds hold. An empty `free`
  /// means all.
  virtual void compute(const Vector& gradient, const Vector& free, Vector* direction) const = 0;
  /// First trial step length along the direction just computed.
  virtual double first_step(const Vector& direction) const = 0;
  /// Learns from a step s and the change y of the gradient along it.
  virtual void update(const Vector& step, const Vector& gradient_change) = 0;
  /// Forgets everything learnt; false if there was nothing to forget.
  virtual bool reset() = 0;
};

/// Limited-memory BFGS with `history` pairs (lbfgs.cpp).
std::unique_ptr<DescentDirection> make_lbfgs(int history);

/// A step proposed by a trust region strategy, with what the model |r + J p|^2 says about it.
struct ModelStep {
  Vector step;                     ///< p
  double predicted_reduction = 0;  ///< 1 - |r + J p|^2 / |r|^2, never negative
  double slope = 0;                ///< half the derivative of |r(x + t p)|^2 / |r|^2 at t = 0; <= 0
  double scaled_norm = 0;          ///< length of p in the strategy's norm
  double damping = 0;              ///< Levenberg-Marquardt parameter
};

/// What happened to a step.
struct StepOutcome {
  bool valid = false;           ///< the residuals at the trial point are finite
  double actual_reduction = 0;  ///< 1 - |r(x + p)|^2 / |r|^2; -infinity if not valid
  double gain_ratio = 0;        ///< actual / predicted
};

/// Chooses the steps of a trust region method.
class TrustRegionStrategy {
 public:
  virtual ~TrustRegionStrategy() = default;

  virtual std::string_view name() const = 0;
  /// A new linear model at x. Called once at the start and after each accepted step.
  virtual void set_model(const Vector& x, const Vector& residuals, const Matrix& jacobian) = 0;
  /// The step for the current model and radius. False if the linear solver gave no finite step.
  virtual bool compute_step(ModelStep* step) = 0;
  /// Adapts the radius.
  virtual void observe(const ModelStep& step, const StepOutcome& outcome) = 0;

  virtual double radius() const = 0;
  /// Length of the longest next step relative to x, both in the strategy's norm.
  virtual double relative_radius() const = 0;
};

std::unique_ptr<TrustRegionStrategy> make_levenberg_marquardt(const LeastSquaresOptions& options);
std::unique_ptr<TrustRegionStrategy> make_gauss_newton(const LeastSquaresOptions& options);
std::unique_ptr<TrustRegionStrategy> make_strategy(const LeastSquaresOptions& options);

}  // namespace wt::optim
