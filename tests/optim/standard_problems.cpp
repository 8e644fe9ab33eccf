// SPDX-License-Identifier: Apache-2.0
// standard_problems.cpp: definitions of the test problems.
#include "standard_problems.h"

#include <cmath>
#include <numbers>
#include <stdexcept>

namespace wt::optim::testing {
namespace {

using Residuals = std::function<ComplexVector(const ComplexVector&)>;

Vector vec(std::initializer_list<double> values) {
  Vector v(static_cast<Index>(values.size()));
  std::copy(values.begin(), values.end(), v.data());
  return v;
}

ComplexVector out(std::initializer_list<Complex> values) {
  ComplexVector v(static_cast<Index>(values.size()));
  std::copy(values.begin(), values.end(), v.data());
  return v;
}

/// Residuals given one by one: i counts from 1 as in the paper.
template <typename F>
Residuals each(Index m, F&& f) {
  return [m, f](const ComplexVector& x) {
    ComplexVector r(m);
    for (Index i = 1; i <= m; ++i) r[i - 1] = f(static_cast<double>(i), x);
    return r;
  };
}

StandardProblem rosenbrock() {  // (1)
  return {"rosenbrock", 2, vec({-1.2, 1}), {0}, [](const ComplexVector& x) {
            return out({10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0]});
          }};
}

StandardProblem freudenstein_roth() {  // (2): a local minimum besides zero
  return {"freudenstein_roth", 2, vec({0.5, -2}), {0, 48.9842536}, [](const ComplexVector& x) {
            const Complex b = x[1];
            return out({-13.0 + x[0] + ((5.0 - b) * b - 2.0) * b,
                        -29.0 + x[0] + ((b + 1.0) * b - 14.0) * b});
          }};
}

StandardProblem powell_badly_scaled() {  // (3)
  return {"powell_badly_scaled", 2, vec({0, 1}), {0}, [](const ComplexVector& x) {
            return out({1e4 * x[0] * x[1] - 1.0, std::exp(-x[0]) + std::exp(-x[1]) - 1.0001});
          }};
}

StandardProblem brown_badly_scaled() {  // (4)
  return {"brown_badly_scaled", 3, vec({1, 1}), {0}, [](const ComplexVector& x) {
            return out({x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2.0});
          }};
}

StandardProblem beale() {  // (5)
  return {"beale", 3, vec({1, 1}), {0}, [](const ComplexVector& x) {
            const Complex b = x[1];
            return out({1.5 - x[0] * (1.0 - b), 2.25 - x[0] * (1.0 - b * b),
                        2.625 - x[0] * (1.0 - b * b * b)});
          }};
}

StandardProblem jennrich_sampson() {  // (6), m = 10
  return {"jennrich_sampson",
          10,
          vec({0.3, 0.4}),
          {124.362182},
          each(10, [](double i, const ComplexVector& x) {
            return 2.0 + 2.0 * i - (std::exp(i * x[0]) + std::exp(i * x[1]));
          })};
}

StandardProblem helical_valley() {  // (7)
  return {"helical_valley", 3, vec({-1, 0, 0}), {0}, [](const ComplexVector& x) {
            Complex theta = std::atan(x[1] / x[0]) / (2 * std::numbers::pi);
            if (x[0].real() < 0) theta += 0.5;
            return out({10.0 * (x[2] - 10.0 * theta),
                        10.0 * (std::sqrt(x[0] * x[0] + x[1] * x[1]) - 1.0), x[2]});
          }};
}

StandardProblem bard() {  // (8)
  const Vector y = vec(
      {0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39});
  return {
      "bard", 15, vec({1, 1, 1}), {8.21487731e-3}, each(15, [y](double u, const ComplexVector& x) {
        const double v = 16 - u;
        return y[static_cast<Index>(u) - 1] - (x[0] + u / (v * x[1] + std::min(u, v) * x[2]));
      })};
}

StandardProblem meyer() {  // (10)
  const Vector y = vec({34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005,
                        5147, 4427, 3820, 3307, 2872});
  return {"meyer",
          16,
          vec({0.02, 4000, 250}),
          {87.9458551},
          each(16, [y](double i, const ComplexVector& x) {
            return x[0] * std::exp(x[1] / (45.0 + 5.0 * i + x[2])) - y[static_cast<Index>(i) - 1];
          })};
}

StandardProblem box_3d() {  // (12), m = 10
  return {"box_3d", 10, vec({0, 10, 20}), {0}, each(10, [](double i, const ComplexVector& x) {
            const double t = 0.1 * i;
            return std::exp(-t * x[0]) - std::exp(-t * x[1]) -
                   x[2] * (std::exp(-t) - std::exp(-10 * t));
          })};
}

StandardProblem powell_singular() {  // (13): the Jacobian is singular at the solution
  return {"powell_singular", 4, vec({3, -1, 0, 1}), {0}, [](const ComplexVector& x) {
            const Complex c = x[1] - 2.0 * x[2];
            const Complex d = x[0] - x[3];
            return out({x[0] + 10.0 * x[1], std::sqrt(5.0) * (x[2] - x[3]), c * c,
                        std::sqrt(10.0) * d * d});
          }};
}

StandardProblem wood() {  // (14)
  return {"wood", 6, vec({-3, -1, -3, -1}), {0}, [](const ComplexVector& x) {
            return out({10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0],
                        std::sqrt(90.0) * (x[3] - x[2] * x[2]), 1.0 - x[2],
                        std::sqrt(10.0) * (x[1] + x[3] - 2.0), (x[1] - x[3]) / std::sqrt(10.0)});
          }};
}

StandardProblem kowalik_osborne() {  // (15)
  const Vector y =
      vec({0.1957, 0.1947, 0.1735, 0.1600, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246});
  const Vector u = vec({4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625});
  return {"kowalik_osborne",
          11,
          vec({0.25, 0.39, 0.415, 0.39}),
          {3.07505604e-4},
          each(11, [y, u](double i, const ComplexVector& x) {
            const Index k = static_cast<Index>(i) - 1;
            return y[k] - x[0] * (u[k] * u[k] + u[k] * x[1]) / (u[k] * u[k] + u[k] * x[2] + x[3]);
          })};
}

StandardProblem brown_dennis() {  // (16), m = 20
  return {"brown_dennis",
          20,
          vec({25, 5, -5, -1}),
          {85822.2016},
          each(20, [](double i, const ComplexVector& x) {
            const double t = i / 5;
            const Complex a = x[0] + t * x[1] - std::exp(t);
            const Complex b = x[2] + x[3] * std::sin(t) - std::cos(t);
            return a * a + b * b;
          })};
}

StandardProblem extended_rosenbrock(Index n) {  // (21)
  Vector start(n);
  for (Index i = 0; i < n; ++i) start[i] = i % 2 == 0 ? -1.2 : 1.0;
  return {"extended_rosenbrock", n, start, {0}, [n](const ComplexVector& x) {
            ComplexVector r(n);
            for (Index i = 0; i < n; i += 2) {
              r[i] = 10.0 * (x[i + 1] - x[i] * x[i]);
              r[i + 1] = 1.0 - x[i];
            }
            return r;
          }};
}

StandardProblem broyden_tridiagonal(Index n) {  // (30)
  return {"broyden_tridiagonal", n, Vector::Constant(n, -1), {0}, [n](const ComplexVector& x) {
            ComplexVector r(n);
            for (Index i = 0; i < n; ++i) {
              r[i] = (3.0 - 2.0 * x[i]) * x[i] + 1.0;
              if (i > 0) r[i] -= x[i - 1];
              if (i + 1 < n) r[i] -= 2.0 * x[i + 1];
            }
            return r;
          }};
}

}  // namespace

const std::vector<StandardProblem>& standard_problems() {
  static const std::vector<StandardProblem> problems = {rosenbrock(),
                                                        freudenstein_roth(),
                                                        powell_badly_scaled(),
                                                        brown_badly_scaled(),
                                                        beale(),
                                                        jennrich_sampson(),
                                                        helical_valley(),
                                                        bard(),
                                                        meyer(),
                                                        box_3d(),
                                                        powell_singular(),
                                                        wood(),
                                                        kowalik_osborne(),
                                                        brown_dennis(),
                                                        extended_rosenbrock(100),
                                                        broyden_tridiagonal(30)};
  return problems;
}

const StandardProblem& standard_problem(const std::string& name) {
  for (const StandardProblem& problem : standard_problems()) {
    if (problem.name == name) return problem;
  }
  throw std::out_of_range("no standard problem named " + name);
}

bool is_solved(const StandardProblem& problem, double value) {
  for (double minimum : problem.minima) {
    if (std::abs(value - minimum) <= 1e-4 * (minimum != 0 ? minimum : 1.0)) return true;
  }
  return false;
}

bool StandardResiduals::evaluate(const Vector& x, Vector* residuals, Matrix* jacobian) {
  constexpr double kStep = 1e-100;
  ComplexVector point = x.cast<Complex>();
  if (residuals != nullptr) *residuals = problem_.residuals(point).real();
  if (jacobian == nullptr) return true;
  for (Index j = 0; j < x.size(); ++j) {
    point[j] = Complex(x[j], kStep);
    jacobian->col(j) = problem_.residuals(point).imag() / kStep;
    point[j] = x[j];
  }
  return true;
}

bool SumOfSquares::evaluate(const Vector& x, double* value, Vector* gradient) {
  Vector residuals(residuals_.num_residuals());
  Matrix jacobian(residuals.size(), x.size());
  residuals_.evaluate(x, &residuals, gradient != nullptr ? &jacobian : nullptr);
  *value = residuals.squaredNorm();
  if (gradient != nullptr) *gradient = 2 * (jacobian.transpose() * residuals);
  return true;
}

}  // namespace wt::optim::testing
