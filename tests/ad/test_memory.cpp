// SPDX-License-Identifier: Apache-2.0
// test_memory.cpp: arrays that change in place, atomics, views, and what is logged for them.
#include <gtest/gtest.h>

#include "tests/ad/gradient_check.h"

namespace wt::test {
namespace {

TEST(Memory, LinearUpdateNeedsNoTape) {
  const Outcome out = check_gradient({.text = R"(kernel @k(%v: array<f64,1>, %g: f64, %dt: f64) {
    %i = tid[dim=0] : i32
    %a = load(%v, %i) : f64
    %b = mul(%g, %dt) : f64
    %c = add(%a, %b) : f64
    store(%v, %c, %i)
    return()
  })",
                                      .args = {array({3}), scalar(-9.8), scalar(0.1)},
                                      .dim = {3}});
  EXPECT_TRUE(out.adjoint.tape.empty());
  EXPECT_EQ(out.adjoint.augmented, nullptr);
  EXPECT_FALSE(out.adjoint.reads_primal[0]);
  EXPECT_TRUE(out.adjoint.consumes[0]);
}

TEST(Memory, InPlaceStepLogsTheLoadedElement) {
  const Outcome out =
      check_gradient({.text = R"(kernel @k(%q: array<f64,1>, %p: array<f64,1>, %dt: f64) {
    %i = tid[dim=0] : i32
    %zero = const[v=0] : i32
    %a = load(%q, %i) : f64
    %g = load(%p, %zero) : f64
    %s = sin(%a) : f64
    %m = mul(%s, %g) : f64
    %n = mul(%m, %dt) : f64
    %r = add(%a, %n) : f64
    store(%q, %r, %i)
    return()
  })",
                      .args = {array({3}), array({1}), scalar(0.3)},
                      .dim = {3}});
  ASSERT_EQ(out.adjoint.tape.size(), 1u);
  EXPECT_EQ(out.adjoint.tape[0].trips, nullptr);
  EXPECT_FALSE(out.adjoint.reads_primal[0]);
  EXPECT_TRUE(out.adjoint.reads_primal[1]);
}

TEST(Memory, MultiplyInPlace) {
  check_gradient({.text = R"(kernel @k(%a: array<f64,1>, %x: array<f64,1>) {
    %i = tid[dim=0] : i32
    %u = load(%a, %i) : f64
    %v = load(%x, %i) : f64
    %w = mul(%u, %v) : f64
    store(%a, %w, %i)
    return()
  })",
                  .args = {array_of({3}, {2, 3, 4}), array_of({3}, {5, 6, 7})},
                  .dim = {3}});
}

TEST(Memory, OverwrittenAndReadAgain) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %two = const[v=2.0] : f64
    %a = load(%x, %i) : f64
    %b = mul(%a, %a) : f64
    store(%y, %b, %i)
    %c = load(%y, %i) : f64
    %d = sin(%c) : f64
    store(%y, %two, %i)
    %e = load(%y, %i) : f64
    %f = mul(%e, %d) : f64
    %g = mul(%f, %c) : f64
    store(%x, %g, %i)
    return()
  })",
                  .args = {array({4}), array({4}, 1, 2)},
                  .dim = {4}});
}

TEST(Memory, InPlaceLoopOverOneElement) {
  const Outcome out = check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %n: i32) {
    %t = tid[dim=0] : i32
    for(%n) { (%i: i32)
      %a = load(%x, %t) : f64
      %b = sin(%a) : f64
      %c = mul(%a, %b) : f64
      store(%x, %c, %t)
      yield()
    }
    return()
  })",
                                      .args = {array({3}), integer(5)},
                                      .dim = {3}});
  ASSERT_EQ(out.adjoint.tape.size(), 1u);
  EXPECT_NE(out.adjoint.tape[0].trips, nullptr);
}

TEST(Memory, NestedLoopsIndexTheLogByRow) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %n: i32, %m: i32) {
    %t = tid[dim=0] : i32
    for(%n) { (%i: i32)
      %a = load(%x, %t) : f64
      for(%i) { (%j: i32)
        %b = load(%x, %t) : f64
        %c = sin(%b) : f64
        store(%x, %c, %t)
        yield()
      }
      %d = load(%x, %t) : f64
      %e = mul(%a, %d) : f64
      for(%m) { (%k: i32)
        %f = load(%x, %t) : f64
        %h = mul(%f, %e) : f64
        %g = sin(%h) : f64
        store(%x, %g, %t)
        yield()
      }
      yield()
    }
    return()
  })",
                  .args = {array({2}), integer(4), integer(2)},
                  .dim = {2}});
}

TEST(Memory, CarriedThroughAnArrayAndAVariable) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>, %n: i32) {
    %t = tid[dim=0] : i32
    %s0 = load(%x, %t) : f64
    %s = for(%n, %s0) : f64 { (%i: i32, %s1: f64)
      %a = load(%y, %t) : f64
      %b = mul(%a, %s1) : f64
      %c = sin(%b) : f64
      store(%y, %c, %t)
      %d = add(%c, %s1) : f64
      yield(%d)
    }
    store(%x, %s, %t)
    return()
  })",
                  .args = {array({3}), array({3}, 1, 5), integer(6)},
                  .dim = {3},
                  .slots = {1, 2, 3, 64}});
}

TEST(Memory, AtomicCounterIndexIsLogged) {
  const Outcome out =
      check_gradient({.text = R"(kernel @k(%cnt: array<i32,1>, %x: array<f64,1>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %zero = const[v=0] : i32
    %one = const[v=1] : i32
    %j = atomic(%cnt, %one, %zero)[kind=add] : i32
    %a = load(%x, %i) : f64
    %b = mul(%a, %a) : f64
    store(%y, %b, %j)
    return()
  })",
                      .args = {integers({0}), array({4}), array({4})},
                      .dim = {4}});
  ASSERT_EQ(out.adjoint.tape.size(), 1u);
  EXPECT_EQ(out.adjoint.tape[0].type, ir::i32_type());
}

TEST(Memory, ViewsShareTheShadow) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,2>, %y: array<f64,2>) {
    %i = tid[dim=0] : i32
    %j = tid[dim=1] : i32
    %row = view(%x, %i) : array<f64,1>
    %out = view(%y, %i) : array<f64,1>
    %a = load(%row, %j) : f64
    %b = sin(%a) : f64
    store(%out, %b, %j)
    return()
  })",
                  .args = {array({2, 3}), array({2, 3})},
                  .dim = {2, 3}});
}

TEST(Memory, ArrayChosenAtRunTime) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>, %z: array<f64,1>) {
    %i = tid[dim=0] : i32
    %one = const[v=1.0] : f64
    %a = load(%x, %i) : f64
    %c = gt(%a, %one) : bool
    %s = select(%c, %x, %y) : array<f64,1>
    %b = load(%s, %i) : f64
    %d = if(%c) : array<f64,1> {
      yield(%y)
    } {
      yield(%x)
    }
    %e = load(%d, %i) : f64
    %f = mul(%b, %e) : f64
    %g = mul(%f, %b) : f64
    store(%z, %g, %i)
    return()
  })",
                  .args = {array({6}), array({6}, 1, 8), array({6})},
                  .dim = {6}});
}

TEST(Memory, BatchEntriesRunAsThreads) {
  // One array shared by both batch entries (batch stride 0): contributions add up.
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %loss: array<f64,1>) {
    %i = tid[dim=0] : i32
    %zero = const[v=0] : i32
    %a = load(%x, %i) : f64
    %b = mul(%a, %a) : f64
    %old = atomic(%loss, %b, %zero)[kind=add] : f64
    return()
  })",
                  .args = {array({3}), array({1})},
                  .dim = {3},
                  .batch = 2});
}

TEST(Memory, AtomicsOnOwnElementsAreLoadsAndStores) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>, %z: array<f64,1>) {
    %i = tid[dim=0] : i32
    %a = load(%x, %i) : f64
    %s = sin(%a) : f64
    %b = atomic(%y, %s, %i)[kind=add] : f64
    %c = mul(%b, %a) : f64
    %d = atomic(%z, %c, %i)[kind=exch] : f64
    %e = mul(%d, %c) : f64
    %f = atomic(%y, %e, %i)[kind=sub] : f64
    %g = mul(%e, %f) : f64
    store(%x, %g, %i)
    return()
  })",
                  .args = {array({3}), array({3}, 1, 3), array({3}, 1, 4)},
                  .dim = {3}});
}

TEST(Memory, AtomicMaximumGoesToTheWinner) {
  const Case c{.text = R"(kernel @k(%x: array<f64,1>, %idx: array<i32,1>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %j = load(%idx, %i) : i32
    %a = load(%x, %i) : f64
    %b = mul(%a, %a) : f64
    %o = atomic(%y, %b, %j)[kind=max] : f64
    return()
  })",
               .args = {array_of({5}, {1.1, 2.0, 0.4, 1.9, 0.2}), integers({0, 0, 1, 0, 2}),
                        array_of({3}, {0.5, 3.0, 0.01})},
               .dim = {5},
               .tangent = false};
  const Outcome out = check_gradient(c);
  EXPECT_TRUE(out.adjoint.reads_primal[2]);
}

// What a constant has won leaves nothing to the value before.
TEST(Memory, AtomicMaximumOfAConstant) {
  check_gradient({.text = R"(kernel @k(%c: array<i32,1>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %j = load(%c, %i) : i32
    %a = cast(%j) : f64
    %o = atomic(%y, %a, %i)[kind=max] : f64
    return()
  })",
                  .args = {integers({2, 0, 1}), array_of({3}, {0.5, 0.7, 1.9})},
                  .dim = {3},
                  .tangent = false});
}

TEST(Memory, LogOfABoundedWhile) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %n: i32) {
    %t = tid[dim=0] : i32
    %end = const[v=3.0] : f64
    %ten = const[v=10] : i32
    %s0 = load(%x, %t) : f64
    %go0 = lt(%s0, %end) : bool
    %go = while(%go0) : bool { (%g: bool)
      loop_bound(%ten)
      %a = load(%x, %t) : f64
      %b = mul(%a, %a) : f64
      %c = add(%b, %a) : f64
      store(%x, %c, %t)
      %h = lt(%c, %end) : bool
      yield(%h)
    }
    return()
  })",
                  .args = {array_of({4}, {0.2, 0.7, 1.2, 4.0}), integer(10)},
                  .dim = {4}});
}

TEST(Memory, PastTheStatedBoundTheGradientIsNan) {
  const Case c{.text = R"(kernel @k(%x: array<f64,1>, %n: i32) {
    %t = tid[dim=0] : i32
    %end = const[v=3.0] : f64
    %s0 = load(%x, %t) : f64
    %go0 = lt(%s0, %end) : bool
    %go = while(%go0) : bool { (%g: bool)
      loop_bound(%n)
      %a = load(%x, %t) : f64
      %b = mul(%a, %a) : f64
      %c = add(%b, %a) : f64
      store(%x, %c, %t)
      %h = lt(%c, %end) : bool
      yield(%h)
    }
    return()
  })",
               .args = {array_of({3}, {0.2, 1.2, 4.0}), integer(2)},
               .dim = {3}};
  const AdjointRun run = run_adjoint(c, 64);
  EXPECT_NE(run.gradient[0][0], run.gradient[0][0]);
  EXPECT_EQ(run.gradient[0][1], run.gradient[0][1]);
  EXPECT_EQ(run.gradient[0][2], run.gradient[0][2]);
}

}  // namespace
}  // namespace wt::test
