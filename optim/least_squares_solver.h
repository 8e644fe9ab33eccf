// SPDX-License-Identifier: Apache-2.0
// least_squares_solver.h: one trust region minimisation that asks its caller for evaluations.
#pragma once

#include <memory>
#include <string>

#include "optim/strategy.h"

namespace wt::optim {

/// The state of one least-squares problem between evaluations. `least_squares` drives one of these,
/// `least_squares_batch` drives many in step with one batched evaluation per pass, and a test can
/// drive one by hand:
///
///   solver.start(r(x0), J(x0));
///   while (solver.propose()) {
///     if (solver.judge(r(solver.trial()))) solver.set_jacobian(J(solver.trial()));
///   }
class LeastSquaresSolver {
 public:
  /// `options` must be valid and outlive the solver.
  LeastSquaresSolver(const LeastSquaresOptions& options,
                     std::unique_ptr<TrustRegionStrategy> strategy, const Vector& x0);

  /// Takes residuals and Jacobian at x0, which must be finite.
  void start(const Vector& residuals, const Matrix& jacobian);

  /// Computes the next trial point. False when the minimisation is over.
  bool propose();
  /// The point to evaluate after propose(), and the current point once the minimisation is over.
  const Vector& trial() const { return trial_; }

  /// Takes the residuals at trial(). True if the step is accepted: the Jacobian there is then due.
  bool judge(const Vector& residuals);
  /// Takes note that trial() could not be evaluated; the next trial will be closer.
  void reject_undefined(const std::string& problem);
  /// Takes the Jacobian at the point just accepted.
  void set_jacobian(const Matrix& jacobian);

  bool finished() const { return summary_.termination != Termination::kNotStarted; }
  /// Ends the minimisation from outside, unless it is over already.
  void stop(Termination termination, const std::string& message);

  const Summary& summary() const { return summary_; }
  Summary* mutable_summary() { return &summary_; }

 private:
  bool within_limits();
  bool compute_trial();
  void set_model();
  StepOutcome measure(const Vector& residuals) const;
  void finish_iteration(bool accepted);
  void test_convergence();
  void update_gradient();

  const LeastSquaresOptions& options_;
  std::unique_ptr<TrustRegionStrategy> strategy_;
  Summary summary_;

  Vector x_;
  Vector residuals_;
  Matrix jacobian_;
  double largest_cosine_ = 0;  // between the residuals and a column of the Jacobian

  Vector trial_;
  bool clipped_ = false;  // the bounds changed the step
  Vector trial_residuals_;
  ModelStep step_;
  StepOutcome outcome_;
  std::string evaluation_problem_;
};

/// Checks the options, and `x0` against the number of parameters and the bounds; false if
/// `*summary` now tells why not to begin.
bool validate_start(const LeastSquaresOptions& options, const Vector& x0, Index parameters,
                    Summary* summary);

}  // namespace wt::optim
