// SPDX-License-Identifier: Apache-2.0
// gauss_newton.cpp: Gauss-Newton steps, halved until they reduce the residual.
#include <algorithm>

#include "optim/linear_solver.h"
#include "optim/strategy.h"

namespace wt::optim {
namespace {

/// Damped Gauss-Newton (Nocedal & Wright, section 10.3): p = t p_GN with t = 1, 1/2, 1/4, ... until
/// the trust region loop accepts. For zero-residual problems near the solution it needs no damping
/// parameter and converges quadratically; a singular Jacobian gives the shortest step.
class GaussNewton : public TrustRegionStrategy {
 public:
  explicit GaussNewton(const LeastSquaresOptions& options) : solver_(make_linear_solver(options)) {}

  std::string_view name() const override { return "gauss_newton"; }

  void set_model(const Vector& x, const Vector& residuals, const Matrix& jacobian) override {
    solver_->prepare(jacobian, residuals);
    solved_ = solver_->solve(0, &full_step_);
    if (!solved_) return;
    x_norm_ = x.norm();
    norm_ = full_step_.norm();
    model_ = (jacobian * full_step_).squaredNorm() / residuals.squaredNorm();
  }

  bool compute_step(ModelStep* step) override {
    if (!solved_) return false;
    step->step = fraction_ * full_step_;
    step->scaled_norm = fraction_ * norm_;
    // J'(r + J p_GN) = 0 makes the model along p_GN a parabola with its minimum at t = 1.
    step->predicted_reduction = fraction_ * (2 - fraction_) * model_;
    step->slope = -fraction_ * model_;
    step->damping = 0;
    return true;
  }

  void observe(const ModelStep&, const StepOutcome& outcome) override {
    fraction_ = outcome.gain_ratio > 0.25 ? std::min(1.0, 2 * fraction_) : 0.5 * fraction_;
  }

  double radius() const override { return fraction_ * norm_; }
  double relative_radius() const override { return x_norm_ > 0 ? radius() / x_norm_ : radius(); }

 private:
  std::unique_ptr<RidgeSolver> solver_;
  Vector full_step_;
  bool solved_ = false;
  double fraction_ = 1;  // t
  double norm_ = 0;
  double x_norm_ = 0;
  double model_ = 0;  // |J p_GN|^2 / |r|^2
};

}  // namespace

std::unique_ptr<TrustRegionStrategy> make_gauss_newton(const LeastSquaresOptions& options) {
  return std::make_unique<GaussNewton>(options);
}

std::unique_ptr<TrustRegionStrategy> make_strategy(const LeastSquaresOptions& options) {
  return options.method == LeastSquaresMethod::kGaussNewton ? make_gauss_newton(options)
                                                            : make_levenberg_marquardt(options);
}

}  // namespace wt::optim
