// SPDX-License-Identifier: Apache-2.0
// least_squares_batch.cpp: many trust region loops in step, around one batched function.
#include <utility>

#include "optim/evaluator.h"
#include "optim/least_squares_solver.h"
#include "optim/minimizer.h"
#include "optim/stopwatch.h"
#include "optim/text.h"

namespace wt::optim {
namespace {

using RowMajorBlock =
    Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

class BatchMinimizer {
 public:
  BatchMinimizer(BatchResidualFunction* function, const LeastSquaresOptions& options)
      : function_(function), options_(options), m_(function->num_residuals()) {}

  std::vector<Summary> run(const Matrix& x0) {
    const Stopwatch stopwatch;
    begin(x0);
    while (propose_all()) {
      if (!evaluate(&residuals_, nullptr)) break;
      if (judge_all() && evaluate(nullptr, &jacobians_)) set_jacobians();
    }
    std::vector<Summary> summaries;
    for (LeastSquaresSolver& solver : solvers_) {
      solver.mutable_summary()->seconds = stopwatch.seconds();
      solver.mutable_summary()->evaluation_seconds = evaluation_seconds_;
      summaries.push_back(std::move(*solver.mutable_summary()));
    }
    return summaries;
  }

 private:
  void begin(const Matrix& x0) {
    points_ = x0;
    const Index count = x0.cols();
    solvers_.reserve(static_cast<size_t>(count));
    for (Index b = 0; b < count; ++b) {
      solvers_.emplace_back(options_, make_strategy(options_), x0.col(b));
    }
    if (!evaluate(&residuals_, &jacobians_)) return;
    std::string problem;
    for (Index b = 0; b < count; ++b) {
      if (check_finite("residual", residuals_.col(b).data(), m_, 0, &problem) &&
          check_finite("jacobian", jacobians_.col(b).data(), jacobians_.rows(), 0, &problem)) {
        solver(b).start(residuals_.col(b), jacobian(b));
      } else {
        solver(b).stop(Termination::kEvaluationFailed, "at the start: " + problem);
      }
    }
  }

  bool propose_all() {
    bool any = false;
    active_.assign(solvers_.size(), false);
    for (Index b = 0; b < points_.cols(); ++b) {
      const bool active = solver(b).propose();
      active_[static_cast<size_t>(b)] = active;
      any = any || active;
      points_.col(b) = solver(b).trial();
    }
    return any;
  }

  bool judge_all() {
    std::string problem;
    accepted_.assign(solvers_.size(), false);
    bool any = false;
    for (Index b = 0; b < points_.cols(); ++b) {
      if (!active_[static_cast<size_t>(b)]) continue;
      if (!check_finite("residual", residuals_.col(b).data(), m_, 0, &problem)) {
        solver(b).reject_undefined(problem);
      } else if (solver(b).judge(residuals_.col(b))) {
        accepted_[static_cast<size_t>(b)] = any = true;
      }
    }
    return any;
  }

  void set_jacobians() {
    std::string problem;
    for (Index b = 0; b < points_.cols(); ++b) {
      if (!accepted_[static_cast<size_t>(b)]) continue;
      if (check_finite("jacobian", jacobians_.col(b).data(), jacobians_.rows(), 0, &problem)) {
        solver(b).set_jacobian(jacobian(b));
      } else {
        solver(b).stop(Termination::kEvaluationFailed, problem);
      }
    }
  }

  bool evaluate(Matrix* residuals, Matrix* jacobians) {
    if (residuals != nullptr) residuals->resize(m_, points_.cols());
    if (jacobians != nullptr) jacobians->resize(m_ * points_.rows(), points_.cols());
    const Stopwatch stopwatch;
    const bool defined = function_->evaluate(points_, residuals, jacobians);
    evaluation_seconds_ += stopwatch.seconds();
    if (defined) return true;
    for (LeastSquaresSolver& solver : solvers_) {
      solver.stop(Termination::kEvaluationFailed, "the batched function failed");
    }
    return false;
  }

  LeastSquaresSolver& solver(Index b) { return solvers_[static_cast<size_t>(b)]; }
  Matrix jacobian(Index b) const {
    return RowMajorBlock(jacobians_.col(b).data(), m_, points_.rows());
  }

  BatchResidualFunction* function_;
  const LeastSquaresOptions& options_;
  Index m_;
  std::vector<LeastSquaresSolver> solvers_;
  std::vector<char> active_;
  std::vector<char> accepted_;
  Matrix points_;
  Matrix residuals_;
  Matrix jacobians_;
  double evaluation_seconds_ = 0;
};

}  // namespace

std::vector<Summary> least_squares_batch(BatchResidualFunction* function, const Matrix& x0,
                                         const LeastSquaresOptions& options) {
  Summary invalid;
  invalid.method = method_name(options.method);
  if (x0.cols() != function->batch_size()) {
    invalid.termination = Termination::kInvalidOptions;
    invalid.message =
        join("x0 holds ", x0.cols(), " problems, the function ", function->batch_size());
  }
  for (Index b = 0; b < x0.cols() && invalid.message.empty(); ++b) {
    if (validate_start(options, x0.col(b), function->num_parameters(), &invalid)) continue;
    invalid.message = join("problem ", b, ": ", invalid.message);
  }
  if (invalid.message.empty()) return BatchMinimizer(function, options).run(x0);
  std::vector<Summary> summaries(static_cast<size_t>(x0.cols()), invalid);
  for (Index b = 0; b < x0.cols(); ++b) summaries[static_cast<size_t>(b)].x = x0.col(b);
  return summaries;
}

}  // namespace wt::optim
