// SPDX-License-Identifier: Apache-2.0
// test_loops.cpp: derivatives of loops: carried values, nesting, while, flags, captured values.
#include <gtest/gtest.h>

#include "tests/ad/gradient_check.h"

namespace wt::test {
namespace {

const std::vector<int64_t> kSlots = {1, 2, 3, 5, 64};

// p = prod x[i], with every element needed at every step.
constexpr const char* kProduct = R"(kernel @k(%x: array<f64,1>, %loss: array<f64,1>, %n: i32) {
    %zero = const[v=0] : i32
    %one = const[v=1.0] : f64
    %p = for(%n, %one) : f64 { (%i: i32, %q: f64)
      %a = load(%x, %i) : f64
      %r = mul(%q, %a) : f64
      yield(%r)
    }
    %old = atomic(%loss, %p, %zero)[kind=add] : f64
    return()
  })";

TEST(Loops, Product) {
  check_gradient({.text = kProduct, .args = {array({7}), array({1}), integer(7)}, .slots = kSlots});
}

TEST(Loops, ZeroTrips) {
  for (int64_t n : {0, -3}) {
    check_gradient(
        {.text = kProduct, .args = {array({2}), array({1}), integer(n)}, .slots = kSlots});
  }
}

TEST(Loops, OneTrip) {
  check_gradient({.text = kProduct, .args = {array({2}), array({1}), integer(1)}, .slots = kSlots});
}

TEST(Loops, EulerStepsWithCapturedGain) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>, %gain: f64, %n: i32) {
    %t = tid[dim=0] : i32
    %s0 = load(%x, %t) : f64
    %k = mul(%gain, %s0) : f64
    %s = for(%n, %s0) : f64 { (%i: i32, %s1: f64)
      %a = sin(%s1) : f64
      %b = mul(%a, %k) : f64
      %c = add(%s1, %b) : f64
      yield(%c)
    }
    %o = mul(%s, %k) : f64
    store(%y, %o, %t)
    return()
  })",
                  .args = {array({3}), array({3}), scalar(0.3), integer(9)},
                  .dim = {3},
                  .slots = kSlots});
}

TEST(Loops, ConstantTripCountStaysInRegisters) {
  const Outcome out = check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>) {
    %t = tid[dim=0] : i32
    %n = const[v=20] : i32
    %s0 = load(%x, %t) : f64
    %s = for(%n, %s0) : f64 { (%i: i32, %s1: f64)
      %a = sin(%s1) : f64
      %b = exp(%a) : f64
      yield(%b)
    }
    store(%y, %s, %t)
    return()
  })",
                                      .args = {array({2}), array({2})},
                                      .dim = {2}});
  EXPECT_TRUE(out.adjoint.history.empty());
}

TEST(Loops, Nested) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>, %n: i32, %m: i32) {
    %t = tid[dim=0] : i32
    %half = const[v=0.5] : f64
    %s0 = load(%x, %t) : f64
    %s = for(%n, %s0) : f64 { (%i: i32, %s1: f64)
      %u, %w = for(%m, %s1, %half) : f64, f64 { (%j: i32, %u1: f64, %w1: f64)
        %a = load(%x, %j) : f64
        %b = mul(%u1, %a) : f64
        %c = sin(%b) : f64
        %d = mul(%w1, %c) : f64
        %e = add(%d, %s1) : f64
        yield(%c, %e)
      }
      %f = mul(%u, %w) : f64
      %g = cos(%f) : f64
      yield(%g)
    }
    store(%y, %s, %t)
    return()
  })",
                  .args = {array({4}), array({2}), integer(4), integer(3)},
                  .dim = {2},
                  .slots = kSlots});
}

TEST(Loops, TriangularInnerLoop) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>, %n: i32) {
    %t = tid[dim=0] : i32
    %s0 = load(%x, %t) : f64
    %s = for(%n, %s0) : f64 { (%i: i32, %s1: f64)
      %u = for(%i, %s1) : f64 { (%j: i32, %u1: f64)
        %a = load(%x, %j) : f64
        %b = mul(%u1, %a) : f64
        %c = cos(%b) : f64
        yield(%c)
      }
      yield(%u)
    }
    store(%y, %s, %t)
    return()
  })",
                  .args = {array({5}), array({2}), integer(5)},
                  .dim = {2},
                  .slots = kSlots});
}

TEST(Loops, WhileWithDataDependentEnd) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>) {
    %t = tid[dim=0] : i32
    %end = const[v=6.0] : f64
    %half = const[v=0.5] : f64
    %s0 = load(%x, %t) : f64
    %go0 = lt(%s0, %end) : bool
    %go, %s = while(%go0, %s0) : bool, f64 { (%g: bool, %s1: f64)
      %a = sin(%s1) : f64
      %b = mul(%a, %half) : f64
      %c = add(%b, %s1) : f64
      %f = add(%c, %s0) : f64
      %h = lt(%f, %end) : bool
      yield(%h, %f)
    }
    store(%y, %s, %t)
    return()
  })",
                  .args = {array_of({4}, {0.63, 0.9, 1.4, 50.0}), array({4})},
                  .dim = {4},
                  .slots = kSlots});
}

TEST(Loops, WhileLinearRecurrenceKeepsItsOrder) {
  check_gradient(
      {.text = R"(kernel @k(%x: array<f64,1>, %a: array<f64,1>, %loss: array<f64,1>, %n: i32) {
    %zero = const[v=0] : i32
    %one = const[v=1] : i32
    %s0 = const[v=0.0] : f64
    %go0 = lt(%zero, %n) : bool
    %go, %k, %s = while(%go0, %zero, %s0) : bool, i32, f64 { (%g: bool, %i: i32, %s1: f64)
      %ai = load(%a, %i) : f64
      %xi = load(%x, %i) : f64
      %p = mul(%ai, %s1) : f64
      %q = add(%p, %xi) : f64
      %j = add(%i, %one) : i32
      %h = lt(%j, %n) : bool
      yield(%h, %j, %q)
    }
    %old = atomic(%loss, %s, %zero)[kind=add] : f64
    return()
  })",
       .args = {array({4}), array_of({4}, {2, 3, 5, 7}), array({1}), integer(4)},
       .slots = kSlots});
}

TEST(Loops, BreakFlag) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %loss: array<f64,1>, %n: i32) {
    %zero = const[v=0] : i32
    %one = const[v=1] : i32
    %bound = const[v=5.0] : f64
    %true = const[v=1] : bool
    %false = const[v=0] : bool
    %s0 = load(%x, %zero) : f64
    %r = load(%x, %one) : f64
    %go, %s = for(%n, %true, %s0) : bool, f64 { (%i: i32, %g: bool, %s1: f64)
      %h, %t = if(%g) : bool, f64 {
        %c = gt(%s1, %bound) : bool
        %d, %u = if(%c) : bool, f64 {
          yield(%false, %s1)
        } {
          %v = mul(%s1, %r) : f64
          yield(%true, %v)
        }
        yield(%d, %u)
      } {
        yield(%g, %s1)
      }
      yield(%h, %t)
    }
    %old = atomic(%loss, %s, %zero)[kind=add] : f64
    return()
  })",
                  .args = {array_of({2}, {1.0, 1.5}), array({1}), integer(12)},
                  .slots = kSlots});
}

TEST(Loops, CarriedVectorAndLocalArray) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %loss: array<f64,1>, %n: i32) {
    %c0 = const[v=0] : i32
    %c1 = const[v=1] : i32
    %four = const[v=4] : i32
    %x0 = load(%x, %c0) : f64
    %x1 = load(%x, %c1) : f64
    %v0 = make(%x0, %x1) : vec<2,f64>
    %z = zero : local<f64,4>
    %l0 = insert(%z, %x0, %c0) : local<f64,4>
    %v, %l = for(%n, %v0, %l0) : vec<2,f64>, local<f64,4> { (%i: i32, %w: vec<2,f64>, %m: local<f64,4>)
      %k = mod(%i, %four) : i32
      %i1 = add(%i, %c1) : i32
      %k1 = mod(%i1, %four) : i32
      %a = extract(%m, %k) : f64
      %b = extract(%w, %c0) : f64
      %c = extract(%w, %c1) : f64
      %p = mul(%a, %b) : f64
      %q = add(%p, %c) : f64
      %s = sin(%q) : f64
      %m1 = insert(%m, %s, %k1) : local<f64,4>
      %w1 = make(%c, %s) : vec<2,f64>
      yield(%w1, %m1)
    }
    %e0 = extract(%l, %c1) : f64
    %e1 = extract(%v, %c1) : f64
    %e = mul(%e0, %e1) : f64
    %old = atomic(%loss, %e, %c0)[kind=add] : f64
    return()
  })",
                  .args = {array({2}), array({1}), integer(7)},
                  .slots = kSlots});
}

TEST(Loops, StaticPrefixProductInLocalArray) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %loss: array<f64,1>) {
    %c0 = const[v=0] : i32
    %c1 = const[v=1] : i32
    %three = const[v=3] : i32
    %x0 = load(%x, %c0) : f64
    %z = zero : local<f64,4>
    %l0 = insert(%z, %x0, %c0) : local<f64,4>
    %l = for(%three, %l0) : local<f64,4> { (%i: i32, %m: local<f64,4>)
      %j = add(%i, %c1) : i32
      %a = extract(%m, %i) : f64
      %b = load(%x, %j) : f64
      %p = mul(%a, %b) : f64
      %n = insert(%m, %p, %j) : local<f64,4>
      yield(%n)
    }
    %e = extract(%l, %three) : f64
    %old = atomic(%loss, %e, %c0)[kind=add] : f64
    return()
  })",
                  .args = {array_of({4}, {2, 3, 4, 5}), array({1})}});
}

TEST(Loops, BranchOnCarriedValue) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %loss: array<f64,1>, %n: i32) {
    %c0 = const[v=0] : i32
    %c1 = const[v=1] : i32
    %one = const[v=1.0] : f64
    %x0 = load(%x, %c0) : f64
    %x1 = load(%x, %c1) : f64
    %s = for(%n, %x0) : f64 { (%i: i32, %s1: f64)
      %c = gt(%s1, %one) : bool
      %r = if(%c) : f64 {
        %p = mul(%s1, %x1) : f64
        %q = sin(%p) : f64
        yield(%q)
      } {
        %u = add(%s1, %x1) : f64
        yield(%u)
      }
      yield(%r)
    }
    %old = atomic(%loss, %s, %c0)[kind=add] : f64
    return()
  })",
                  .args = {array_of({2}, {0.4, 0.7}), array({1}), integer(8)},
                  .slots = kSlots});
}

TEST(Loops, RunningMaximum) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %loss: array<f64,1>, %n: i32) {
    %c0 = const[v=0] : i32
    %x0 = load(%x, %c0) : f64
    %s = for(%n, %x0) : f64 { (%i: i32, %s1: f64)
      %a = load(%x, %i) : f64
      %m = max(%s1, %a) : f64
      yield(%m)
    }
    %p = mul(%s, %s) : f64
    %old = atomic(%loss, %p, %c0)[kind=add] : f64
    return()
  })",
                  .args = {array_of({4}, {1, 4, 2, 3}), array({1}), integer(4)},
                  .slots = kSlots});
}

TEST(Loops, LoopInBranchAndResultUsedAfter) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>, %n: i32) {
    %t = tid[dim=0] : i32
    %one = const[v=1.0] : f64
    %a = load(%x, %t) : f64
    %c = gt(%a, %one) : bool
    %r = if(%c) : f64 {
      %s = for(%n, %a) : f64 { (%i: i32, %s1: f64)
        %u = sin(%s1) : f64
        %v = mul(%u, %a) : f64
        yield(%v)
      }
      yield(%s)
    } {
      %q = mul(%a, %a) : f64
      yield(%q)
    }
    %o = mul(%r, %a) : f64
    store(%y, %o, %t)
    return()
  })",
                  .args = {array({6}), array({6}), integer(5)},
                  .dim = {6},
                  .slots = kSlots});
}

TEST(Loops, SwappedCarriedValues) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %loss: array<f64,1>, %n: i32) {
    %c0 = const[v=0] : i32
    %c1 = const[v=1] : i32
    %a = load(%x, %c0) : f64
    %b = load(%x, %c1) : f64
    %p, %q = for(%n, %a, %b) : f64, f64 { (%i: i32, %u: f64, %v: f64)
      %w = mul(%u, %v) : f64
      yield(%v, %w)
    }
    %old = atomic(%loss, %q, %c0)[kind=add] : f64
    return()
  })",
                  .args = {array_of({2}, {1.1, 0.9}), array({1}), integer(6)},
                  .slots = kSlots});
}

TEST(Loops, StoresAndLoadsOfElementsInsideALoop) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,2>, %y: array<f64,2>, %n: i32) {
    %t = tid[dim=0] : i32
    %s0 = const[v=1.0] : f64
    %s = for(%n, %s0) : f64 { (%i: i32, %s1: f64)
      %a = load(%x, %t, %i) : f64
      %b = mul(%a, %s1) : f64
      store(%y, %b, %t, %i)
      %c = sin(%b) : f64
      yield(%c)
    }
    return()
  })",
                  .args = {array({2, 5}), array({2, 5}, 1, 4), integer(5)},
                  .dim = {2},
                  .slots = kSlots});
}

}  // namespace
}  // namespace wt::test
