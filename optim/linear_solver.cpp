// SPDX-License-Identifier: Apache-2.0
// linear_solver.cpp: damped least squares by QR, Cholesky and conjugate gradients.
#include "optim/linear_solver.h"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>

namespace wt::optim {
namespace {

/// Reduces A to its triangular factor once; each alpha then costs one QR of the small stacked
/// system [R; sqrt(alpha) I], so the condition number of A is never squared.
class QrRidgeSolver : public RidgeSolver {
 public:
  void prepare(const Matrix& a, const Vector& b) override {
    const Index n = a.cols();
    const Index k = std::min(a.rows(), n);
    const Eigen::HouseholderQR<Matrix> qr(a);
    r_ = qr.matrixQR().topRows(k).triangularView<Eigen::Upper>();
    c_ = (qr.householderQ().transpose() * b).head(k);
    full_rank_ = false;
  }

  bool solve(double alpha, Vector* q) override {
    return alpha > 0 ? solve_damped(alpha, q) : solve_undamped(q);
  }

  double inverse_form(const Vector& v) override {
    return triangle_.transpose().triangularView<Eigen::Lower>().solve(v).squaredNorm();
  }

  bool has_full_rank() const override { return full_rank_; }

 private:
  bool solve_undamped(Vector* q) {
    const Eigen::CompleteOrthogonalDecomposition<Matrix> decomposition(r_);
    full_rank_ = decomposition.rank() == r_.cols();
    if (full_rank_) triangle_ = r_;
    *q = -decomposition.solve(c_);
    return q->allFinite();
  }

  bool solve_damped(double alpha, Vector* q) {
    const Index n = r_.cols();
    const Index k = r_.rows();
    Matrix stacked = Matrix::Zero(k + n, n);
    stacked.topRows(k) = r_;
    stacked.bottomRows(n).diagonal().setConstant(std::sqrt(alpha));
    Vector right = Vector::Zero(k + n);
    right.head(k) = -c_;
    const Eigen::HouseholderQR<Matrix> qr(stacked);
    triangle_ = qr.matrixQR().topRows(n).triangularView<Eigen::Upper>();
    right.applyOnTheLeft(qr.householderQ().transpose());
    *q = triangle_.triangularView<Eigen::Upper>().solve(right.head(n));
    return q->allFinite();
  }

  Matrix r_;         // k x n
  Vector c_;         // first k entries of Q'b
  Matrix triangle_;  // n x n factor of A'A + alpha I
  bool full_rank_ = false;
};

class CholeskyRidgeSolver : public RidgeSolver {
 public:
  void prepare(const Matrix& a, const Vector& b) override {
    normal_.setZero(a.cols(), a.cols());
    normal_.selfadjointView<Eigen::Lower>().rankUpdate(a.transpose());
    right_ = -(a.transpose() * b);
    full_rank_ = false;
  }

  bool solve(double alpha, Vector* q) override {
    Matrix damped = normal_;
    damped.diagonal().array() += alpha;
    factor_.compute(damped);
    const bool usable = factor_.info() == Eigen::Success &&
                        factor_.rcond() > std::numeric_limits<double>::epsilon();
    if (alpha == 0) full_rank_ = usable;
    if (!usable) return false;
    *q = factor_.solve(right_);
    return q->allFinite();
  }

  double inverse_form(const Vector& v) override { return factor_.matrixL().solve(v).squaredNorm(); }

  bool has_full_rank() const override { return full_rank_; }

 private:
  Matrix normal_;  // A'A, lower triangle
  Vector right_;   // -A'b
  Eigen::LLT<Matrix> factor_;
  bool full_rank_ = false;
};

/// Conjugate gradients on the normal equations with the diagonal as preconditioner (Nocedal &
/// Wright, algorithm 5.3; products with A and A', A'A is never formed). On a singular A the
/// iterates stay in the range of A', so alpha = 0 is safe.
class ConjugateGradientRidgeSolver : public RidgeSolver {
 public:
  explicit ConjugateGradientRidgeSolver(const LeastSquaresOptions& options)
      : tolerance_(options.cg_tolerance), max_iterations_(options.cg_max_iterations) {}

  void prepare(const Matrix& a, const Vector& b) override {
    a_ = a;
    right_ = -(a.transpose() * b);
    squares_ = a.colwise().squaredNorm();
  }

  bool solve(double alpha, Vector* q) override {
    alpha_ = alpha;
    return run(right_, q);
  }

  double inverse_form(const Vector& v) override {
    Vector z;
    return run(v, &z) ? v.dot(z) : 0.0;
  }

  /// Rank is not known to an iterative solver; false only costs a lower bound of the damping.
  bool has_full_rank() const override { return false; }

 private:
  bool run(const Vector& right, Vector* q) const {
    const Index n = a_.cols();
    const Vector preconditioner =
        (squares_.array() + alpha_).unaryExpr([](double d) { return d > 0 ? 1 / d : 1.0; });
    q->setZero(n);
    Vector residual = right;
    Vector z = preconditioner.cwiseProduct(residual);
    Vector direction = z;
    double rho = residual.dot(z);
    const double goal = tolerance_ * right.norm();
    const Index limit = max_iterations_ > 0 ? max_iterations_ : 2 * n + 10;
    for (Index i = 0; i < limit && residual.norm() > goal; ++i) {
      const Vector product = a_.transpose() * (a_ * direction) + alpha_ * direction;
      const double curvature = direction.dot(product);
      if (!(curvature > 0)) break;
      const double step = rho / curvature;
      *q += step * direction;
      residual -= step * product;
      z = preconditioner.cwiseProduct(residual);
      const double next_rho = residual.dot(z);
      direction = z + (next_rho / rho) * direction;
      rho = next_rho;
    }
    return q->allFinite();
  }

  double tolerance_;
  int max_iterations_;
  double alpha_ = 0;
  Matrix a_;
  Vector right_;    // -A'b
  Vector squares_;  // diagonal of A'A
};

}  // namespace

std::unique_ptr<RidgeSolver> make_linear_solver(const LeastSquaresOptions& options) {
  switch (options.linear_solver) {
    case LinearSolverKind::kQr:
      return std::make_unique<QrRidgeSolver>();
    case LinearSolverKind::kCholesky:
      return std::make_unique<CholeskyRidgeSolver>();
    case LinearSolverKind::kConjugateGradient:
      return std::make_unique<ConjugateGradientRidgeSolver>(options);
  }
  return nullptr;
}

}  // namespace wt::optim
