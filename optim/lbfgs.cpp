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
  void compute(const Vector& gradient, const Vector& free, Vector* direction) const override {
    if (free.size() == 0) return two_loop(pairs_, gradient, direction);
    std::deque<Pair> restricted;
    for (const Pair& pair : pairs_) {
      add_pair(pair.s.cwiseProduct(free), pair.y.cwiseProduct(free), &restricted);
    }
    two_loop(restricted, gradient, direction);
  }

  /// The quasi-Newton step is tried first; before any curvature is known, a step of unit length.
  double first_step(const Vector& direction) const override {
    return pairs_.empty() ? 1.0 / direction.norm() : 1.0;
  }

  void update(const Vector& step, const Vector& gradient_change) override {
    add_pair(step, gradient_change, &pairs_);
    if (pairs_.size() > history_) pairs_.pop_front();
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

  /// The strong Wolfe conditions give s'y > 0. A step that has only sufficient decrease, or the
  /// part of a pair in a subspace, may not; such a pair would make H indefinite.
  static void add_pair(const Vector& s, const Vector& y, std::deque<Pair>* pairs) {
    const double curvature = s.dot(y);
    if (curvature > std::numeric_limits<double>::epsilon() * y.squaredNorm()) {
      pairs->push_back({s, y, 1.0 / curvature});
    }
  }

  static void two_loop(const std::deque<Pair>& pairs, const Vector& gradient, Vector* direction) {
    Vector& q = *direction;
    q = -gradient;
    if (pairs.empty()) return;
    Vector alpha(static_cast<Index>(pairs.size()));
    for (Index i = alpha.size() - 1; i >= 0; --i) {
      const Pair& pair = pairs[static_cast<size_t>(i)];
      alpha[i] = pair.rho * pair.s.dot(q);
      q -= alpha[i] * pair.y;
    }
    const Pair& newest = pairs.back();
    q *= 1.0 / (newest.rho * newest.y.squaredNorm());
    for (Index i = 0; i < alpha.size(); ++i) {
      const Pair& pair = pairs[static_cast<size_t>(i)];
      const double beta = pair.rho * pair.y.dot(q);
      q += (alpha[i] - beta) * pair.s;
    }
  }

  size_t history_;
  std::deque<Pair> pairs_;  // oldest first
};

}  // namespace

std::unique_ptr<DescentDirection> make_lbfgs(int history) {
  return std::make_unique<Lbfgs>(history);
}

}  // namespace wt::optim
