// SPDX-License-Identifier: Apache-2.0
// levenberg_marquardt.cpp: the trust region form of Levenberg-Marquardt with scaled variables.
#include <algorithm>
#include <cmath>

#include "optim/linear_solver.h"
#include "optim/strategy.h"

namespace wt::optim {
namespace {

/// J. J. More, The Levenberg-Marquardt algorithm: implementation and theory, Numerical Analysis,
/// Lecture Notes in Mathematics 630 (1978). Works in q = D p, so that the model is
/// min |J D^-1 q + r| subject to |q| <= radius, with D_j the largest norm that column j of J has
/// had: steps do not depend on the units of x.
class LevenbergMarquardt : public TrustRegionStrategy {
 public:
  explicit LevenbergMarquardt(const LeastSquaresOptions& options)
      : solver_(make_linear_solver(options)), radius_factor_(options.initial_radius_factor) {}

  std::string_view name() const override { return "levenberg_marquardt"; }

  void set_model(const Vector& x, const Vector& residuals, const Matrix& jacobian) override {
    update_scale(jacobian);
    scaled_x_norm_ = scale_.cwiseProduct(x).norm();
    if (radius_ == 0) radius_ = radius_factor_ * (scaled_x_norm_ > 0 ? scaled_x_norm_ : 1.0);
    scaled_jacobian_ = jacobian * scale_.cwiseInverse().asDiagonal();
    gradient_norm_ = (scaled_jacobian_.transpose() * residuals).norm();
    residual_norm_ = residuals.norm();
    solver_->prepare(scaled_jacobian_, residuals);
    gauss_newton_known_ = solver_->solve(0, &gauss_newton_);
    full_rank_ = gauss_newton_known_ && solver_->has_full_rank();
    slope_at_zero_ = full_rank_ ? norm_slope(gauss_newton_) : 0.0;
  }

  bool compute_step(ModelStep* step) override {
    if (!solve_trust_region()) return false;
    step->step = q_.cwiseQuotient(scale_);
    step->damping = damping_;
    step->scaled_norm = q_.norm();
    const double model = (scaled_jacobian_ * q_).norm() / residual_norm_;
    const double damped = std::sqrt(damping_) * step->scaled_norm / residual_norm_;
    step->predicted_reduction = model * model + 2 * damped * damped;  // (3.4) of the paper
    step->slope = -(model * model + damped * damped);
    if (first_) radius_ = std::min(radius_, step->scaled_norm);
    return true;
  }

  /// Section 4 of the paper.
  void observe(const ModelStep& step, const StepOutcome& outcome) override {
    first_ = first_ && !outcome.valid;
    if (outcome.gain_ratio <= 0.25) {
      const double shrink = shrink_factor(step, outcome);
      radius_ = shrink * std::min(radius_, 10 * step.scaled_norm);
      damping_ /= shrink;
    } else if (outcome.gain_ratio >= 0.75 || damping_ == 0) {
      radius_ = 2 * step.scaled_norm;
      damping_ /= 2;
    }
  }

  double radius() const override { return radius_; }

  double relative_radius() const override {
    return scaled_x_norm_ > 0 ? radius_ / scaled_x_norm_ : radius_;
  }

 private:
  /// A column that has always been zero has scale 1; it counts as unseen.
  void update_scale(const Matrix& jacobian) {
    const Vector norms = jacobian.colwise().norm();
    largest_norms_ = largest_norms_.size() == 0 ? norms : largest_norms_.cwiseMax(norms).eval();
    scale_ = (largest_norms_.array() > 0).select(largest_norms_, 1.0);
  }

  /// The minimiser of the quadratic with the observed value and slope, kept in [0.1, 0.5].
  static double shrink_factor(const ModelStep& step, const StepOutcome& outcome) {
    if (outcome.actual_reduction >= 0) return 0.5;
    const double factor = 0.5 * step.slope / (step.slope + 0.5 * outcome.actual_reduction);
    return std::clamp(factor, 0.1, 0.5);
  }

  /// d|q(alpha)| / d alpha at the last solution: -q' (A'A + alpha I)^-1 q / |q|.
  double norm_slope(const Vector& q) {
    const double norm = q.norm();
    return norm > 0 ? -solver_->inverse_form(q) / norm : 0.0;
  }

  /// Algorithm (5.5): finds alpha with | |q(alpha)| - radius | <= 0.1 radius by a Newton iteration
  /// on 1 / |q|, safeguarded by bounds; or alpha = 0 if the Gauss-Newton step is inside.
  bool solve_trust_region() {
    constexpr double kTolerance = 0.1;
    constexpr int kMaxIterations = 10;
    if (gauss_newton_known_ && gauss_newton_.norm() - radius_ <= kTolerance * radius_) {
      damping_ = 0;
      q_ = gauss_newton_;
      return true;
    }
    if (gradient_norm_ == 0) return false;
    // The Newton step on 1 / |q| from alpha = 0, which cannot pass the solution: 1 / |q| is
    // concave.
    const double longest = gauss_newton_.norm();
    double lower =
        slope_at_zero_ < 0 ? longest / radius_ * (radius_ - longest) / slope_at_zero_ : 0.0;
    double upper = gradient_norm_ / radius_;
    double alpha = std::clamp(damping_, lower, upper);
    if (alpha == 0) alpha = gradient_norm_ / (gauss_newton_known_ ? gauss_newton_.norm() : radius_);
    bool solved = false;
    double excess = 0;
    for (int i = 0; i < kMaxIterations; ++i) {
      if (alpha <= 0) alpha = std::max(0.001 * upper, std::sqrt(lower * upper));
      Vector q;
      if (!solver_->solve(alpha, &q)) {
        // Singular to the solver's precision: the last solution lies inside the radius and will do;
        // before there is one, more damping makes the system regular.
        if (solved) return true;
        alpha *= 100;
        continue;
      }
      solved = true;
      q_ = q;
      damping_ = alpha;
      const double previous = excess;
      excess = q.norm() - radius_;
      if (std::abs(excess) <= kTolerance * radius_) return true;
      // A bounded |q(0)| below the radius: the limit alpha -> 0 of a singular problem.
      if (lower == 0 && excess <= previous && previous < 0) return true;
      const double slope = norm_slope(q);
      if (!(slope < 0)) return true;
      const double newton = alpha - (excess + radius_) / radius_ * (excess / slope);
      if (excess > 0) lower = std::max(lower, alpha);
      if (excess < 0) upper = std::min(upper, alpha);
      alpha = std::max(lower, newton);
      if (alpha >= upper) alpha = 0.5 * (lower + upper);
    }
    return solved;
  }

  std::unique_ptr<RidgeSolver> solver_;
  double radius_factor_;
  double radius_ = 0;
  double damping_ = 0;
  bool first_ = true;  // no valid step yet

  Vector largest_norms_;  // of each column so far
  Vector scale_;          // D
  Matrix scaled_jacobian_;
  double scaled_x_norm_ = 0;
  double residual_norm_ = 0;
  double gradient_norm_ = 0;  // |D^-1 J' r|
  Vector gauss_newton_;
  bool gauss_newton_known_ = false;
  bool full_rank_ = false;
  double slope_at_zero_ = 0;
  Vector q_;
};

}  // namespace

std::unique_ptr<TrustRegionStrategy> make_levenberg_marquardt(const LeastSquaresOptions& options) {
  return std::make_unique<LevenbergMarquardt>(options);
}

}  // namespace wt::optim
