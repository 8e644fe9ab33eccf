// SPDX-License-Identifier: Apache-2.0
// lbfgs.cpp: limited-memory BFGS direction by the two-loop recursion.
#include <deque>
#include <limits>

#include "optim/strategy.h"

namespace wt::optim {
namespace {

/// Nocedal & Wright, algorithms 7.4 and 7.5.
class Lbfgs : public DescentDirection {
 public:
  explicit Lbfgs(int history) : history_(static_cast<size_t>(history)) {}

  std::string_view name() const override { return "lbfgs"; }

  /// Algorithm 7.4: d = -H g with H_0 = gamma I, gamma = s'y / y'y of the newest pair, (7.20).
  void compute(const Vector& gradient, Vector* direction) const override {
    Vector& q = *direction;
    q = -gradient;
    if (pairs_.empty()) return;
    Vector alpha(static_cast<Index>(pairs_.size()));
    for (Index i = alpha.size() - 1; i >= 0; --i) {
      const Pair& pair = pairs_[static_cast<size_t>(i)];
      alpha[i] = pair.rho * pair.s.dot(q);
      q -= alpha[i] * pair.y;
    }
    const Pair& newest = pairs_.back();
    q *= 1.0 / (newest.rho * newest.y.squaredNorm());
    for (Index i = 0; i < alpha.size(); ++i) {
      const Pair& pair = pairs_[static_cast<size_t>(i)];
      const double beta = pair.rho * pair.y.dot(q);
      q += (alpha[i] - beta) * pair.s;
    }
  }

  /// The quasi-Newton step is tried first; before any curvature is known, a step of unit length.
  double first_step(const Vector& direction) const override {
    return pairs_.empty() ? 1.0 / direction.norm() : 1.0;
  }

  void update(const Vector& step, const Vector& gradient_change) override {
    const double curvature = step.dot(gradient_change);
    // The strong Wolfe conditions give s'y > 0. A step that has only sufficient decrease may not;
    // such a pair would make H indefinite.
    if (!(curvature > std::numeric_limits<double>::epsilon() * gradient_change.squaredNorm())) {
      return;
    }
    if (pairs_.size() == history_) pairs_.pop_front();
    pairs_.push_back({step, gradient_change, 1.0 / curvature});
  }

  bool reset() override {
    const bool had_pairs = !pairs_.empty();
    pairs_.clear();
    return had_pairs;
  }

 private:
  struct Pair {
    Vector s;    // x_{k+1} - x_k
    Vector y;    // g_{k+1} - g_k
    double rho;  // 1 / s'y
  };

  size_t history_;
  std::deque<Pair> pairs_;  // oldest first
};

}  // namespace

std::unique_ptr<DescentDirection> make_lbfgs(int history) {
  return std::make_unique<Lbfgs>(history);
}

}  // namespace wt::optim
