// SPDX-License-Identifier: Apache-2.0
// test_history.cpp: the schedule of checkpoints: same gradient, and no more primal steps than the
// binomial bound allows.
#include <gtest/gtest.h>

#include "tests/ad/gradient_check.h"

namespace wt::test {
namespace {

/// Griewank & Walther: least number of primal steps for reversing l iterations with c checkpoints.
int64_t least_steps(int64_t l, int64_t c) {
  int64_t t = 0, beta = 1, sum = 0;  // beta(c, t) = (c + t)! / (c! t!)
  while (beta < l) {
    ++t;
    beta = beta * (c + t) / t;
  }
  // t*l - beta(c+1, t-1)
  int64_t inner = 1;
  for (int64_t k = 1; k <= t - 1; ++k) inner = inner * (c + 1 + k) / k;
  sum = t == 0 ? 0 : t * l - inner;
  return sum;
}

TEST(History, LeastStepsOfSmallCases) {
  EXPECT_EQ(least_steps(1, 1), 0);
  EXPECT_EQ(least_steps(5, 1), 10);
  EXPECT_EQ(least_steps(10, 3), 15);
  EXPECT_EQ(least_steps(8, 8), 7);
}

Case counted_loop(int64_t n) {
  return {.text = R"(kernel @k(%x: array<f64,1>, %loss: array<f64,1>, %n: i32) {
    %z = const[v=0] : i32
    %s0 = load(%x, %z) : f64
    %one = const[v=1] : i32
    %g = load(%x, %one) : f64
    %s = for(%n, %s0) : f64 { (%i: i32, %s1: f64)
      %a = cosh(%s1) : f64
      %b = mul(%a, %g) : f64
      yield(%b)
    }
    %o = atomic(%loss, %s, %z)[kind=add] : f64
    return()
  })",
          .args = {array_of({2}, {0.3, 0.4}), array({1}), integer(n)}};
}

Case while_loop(int64_t n) {
  return {.text = R"(kernel @k(%x: array<f64,1>, %loss: array<f64,1>, %n: i32) {
    %z = const[v=0] : i32
    %one = const[v=1] : i32
    %s0 = load(%x, %z) : f64
    %g = load(%x, %one) : f64
    %go0 = lt(%z, %n) : bool
    %go, %k, %s = while(%go0, %z, %s0) : bool, i32, f64 { (%f: bool, %i: i32, %s1: f64)
      %a = cosh(%s1) : f64
      %b = mul(%a, %g) : f64
      %j = add(%i, %one) : i32
      %h = lt(%j, %n) : bool
      yield(%h, %j, %b)
    }
    %o = atomic(%loss, %s, %z)[kind=add] : f64
    return()
  })",
          .args = {array_of({2}, {0.3, 0.4}), array({1}), integer(n)}};
}

// Every iteration runs once in the first sweep (N) and once where it is reversed (N); the rest are
// steps of the schedule. The first sweep already sets the first row of checkpoints.
TEST(History, CountedLoopTakesTheBinomialNumberOfSteps) {
  for (int64_t n : {1, 2, 5, 13, 30}) {
    const AdjointRun reference = run_adjoint(counted_loop(n), n, "cosh");
    for (int64_t slots = 1; slots <= n; ++slots) {
      const AdjointRun run = run_adjoint(counted_loop(n), slots, "cosh");
      EXPECT_EQ(run.gradient, reference.gradient) << n << " iterations, " << slots << " slots";
      const int64_t saved = slots > 1 && n > 1 ? 1 : 0;
      EXPECT_LE(run.counted, n + n + least_steps(n, slots) - saved)
          << n << " iterations, " << slots << " slots";
    }
    EXPECT_EQ(reference.counted, 2 * n);
  }
}

TEST(History, WhileLoopTakesOneSweepMore) {
  for (int64_t n : {1, 2, 5, 13, 30}) {
    const AdjointRun reference = run_adjoint(while_loop(n), n, "cosh");
    for (int64_t slots = 1; slots <= n; ++slots) {
      const AdjointRun run = run_adjoint(while_loop(n), slots, "cosh");
      EXPECT_EQ(run.gradient, reference.gradient) << n << " iterations, " << slots << " slots";
      const int64_t schedule = slots < n ? least_steps(n, slots) : 0;
      EXPECT_LE(run.counted, n + n + schedule) << n << " iterations, " << slots << " slots";
    }
    EXPECT_EQ(reference.counted, 2 * n);
  }
}

TEST(History, AMillionStepsWith64SlotsTakeFiveSweeps) {
  EXPECT_LE(least_steps(1000000, 64), 5 * 1000000);
  EXPECT_LE(least_steps(1000000, 16), 9 * 1000000);
  const int64_t n = 20000;
  const AdjointRun run = run_adjoint(counted_loop(n), 64, "cosh");
  EXPECT_LE(run.counted, n + n + least_steps(n, 64) - n / 2);
}

TEST(History, AllSlotsOfOneLoopBelongTogether) {
  const ad::Adjoint a = run_reverse(counted_loop(5));
  ASSERT_EQ(a.history.size(), 2u);  // The state and its iteration number.
  EXPECT_EQ(a.history[0].type, ir::f64_type());
  EXPECT_EQ(a.history[1].type, ir::i64_type());
  EXPECT_EQ(a.history[0].loop, a.history[1].loop);
}

}  // namespace
}  // namespace wt::test
