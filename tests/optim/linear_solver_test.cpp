// SPDX-License-Identifier: Apache-2.0
// linear_solver_test.cpp: damped least squares against the singular value decomposition.
#include "optim/linear_solver.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <Eigen/SVD>

namespace wt::optim {
namespace {

/// q = -V diag(s / (s^2 + alpha)) U'b, without the singular values below 1e-12 of the largest.
Vector reference(const Matrix& a, const Vector& b, double alpha) {
  const Eigen::JacobiSVD<Matrix> svd(a, Eigen::ComputeThinU | Eigen::ComputeThinV);
  Vector s = svd.singularValues();
  const double cut = 1e-12 * s[0];
  const Vector factor = s.unaryExpr([=](double v) { return v > cut ? v / (v * v + alpha) : 0.0; });
  return -svd.matrixV() * factor.cwiseProduct(svd.matrixU().transpose() * b);
}

class RidgeSolverTest : public ::testing::TestWithParam<LinearSolverKind> {
 protected:
  std::unique_ptr<RidgeSolver> make() const {
    LeastSquaresOptions options;
    options.linear_solver = GetParam();
    options.cg_max_iterations = 200;
    return make_linear_solver(options);
  }
};

TEST_P(RidgeSolverTest, DampedStepOfAnyShape) {
  std::srand(7);
  for (const auto& [m, n] : {std::pair<Index, Index>{9, 4}, {4, 4}, {3, 7}}) {
    const Matrix a = Matrix::Random(m, n);
    const Vector b = Vector::Random(m);
    const std::unique_ptr<RidgeSolver> solver = make();
    solver->prepare(a, b);
    for (double alpha : {1e-4, 1e-2, 1.0, 1e3}) {
      Vector q;
      ASSERT_TRUE(solver->solve(alpha, &q));
      EXPECT_LT((q - reference(a, b, alpha)).norm(), 1e-8 * (1 + q.norm())) << alpha;
      const Vector v = Vector::Random(n);
      Matrix damped = a.transpose() * a;
      damped.diagonal().array() += alpha;
      const double form = v.dot(damped.inverse() * v);
      EXPECT_NEAR(solver->inverse_form(v), form, 1e-7 * form);
    }
  }
}

TEST_P(RidgeSolverTest, UndampedStepOfARegularSystem) {
  std::srand(3);
  const Matrix a = Matrix::Random(8, 5);
  const Vector b = Vector::Random(8);
  const std::unique_ptr<RidgeSolver> solver = make();
  solver->prepare(a, b);
  Vector q;
  ASSERT_TRUE(solver->solve(0, &q));
  EXPECT_LT((q - reference(a, b, 0)).norm(), 1e-9);
  // Conjugate gradients never claim to know the rank.
  EXPECT_EQ(solver->has_full_rank(), GetParam() != LinearSolverKind::kConjugateGradient);
}

TEST_P(RidgeSolverTest, SingularSystemIsRefusedOrGivesTheShortestStep) {
  std::srand(5);
  Matrix a = Matrix::Random(6, 4);
  a.col(3) = a.col(0) - 2 * a.col(1);
  const Vector b = Vector::Random(6);
  const std::unique_ptr<RidgeSolver> solver = make();
  solver->prepare(a, b);
  Vector q;
  const bool solved = solver->solve(0, &q);
  EXPECT_FALSE(solver->has_full_rank());
  EXPECT_EQ(solved, GetParam() != LinearSolverKind::kCholesky);
  if (!solved) return;
  // Conjugate gradients with a diagonal preconditioner give some minimiser, of bounded length.
  EXPECT_LT((a.transpose() * (a * q + b)).norm(), 1e-9);
  EXPECT_LT(q.norm(), 10 * reference(a, b, 0).norm());
  if (GetParam() == LinearSolverKind::kQr) {
    EXPECT_LT((q - reference(a, b, 0)).norm(), 1e-10);
  }
}

TEST_P(RidgeSolverTest, ZeroMatrix) {
  const std::unique_ptr<RidgeSolver> solver = make();
  solver->prepare(Matrix::Zero(3, 2), Vector::Ones(3));
  Vector q;
  ASSERT_TRUE(solver->solve(0.5, &q));
  EXPECT_EQ(q.norm(), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, RidgeSolverTest,
                         ::testing::Values(LinearSolverKind::kQr, LinearSolverKind::kCholesky,
                                           LinearSolverKind::kConjugateGradient),
                         [](const auto& info) {
                           return std::string(linear_solver_name(info.param));
                         });

TEST(QrRidgeSolver, KeepsDigitsThatNormalEquationsLose) {
  // Läuchli's matrix: A'A rounds to a singular matrix for e below 1e-8.
  const double e = 1e-9;
  Matrix a(3, 2);
  a << 1, 1, e, 0, 0, e;
  const Vector exact = Vector::Constant(2, 1.5);
  const std::unique_ptr<RidgeSolver> solver = make_linear_solver({});
  solver->prepare(a, -a * exact);
  Vector q;
  ASSERT_TRUE(solver->solve(0, &q));
  EXPECT_LT((q - exact).norm(), 1e-5);
}

}  // namespace
}  // namespace wt::optim
