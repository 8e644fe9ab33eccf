// SPDX-License-Identifier: Apache-2.0
// test_straight.cpp: derivatives of straight-line code and branches.
#include <gtest/gtest.h>

#include "tests/ad/gradient_check.h"

namespace wt::test {
namespace {

TEST(Straight, Product) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %a = load(%x, %i) : f64
    %s = sin(%a) : f64
    %p = mul(%s, %a) : f64
    %q = div(%p, %s) : f64
    %r = sub(%q, %p) : f64
    store(%y, %r, %i)
    return()
  })",
                  .args = {array({4}), array({4})},
                  .dim = {4}});
}

TEST(Straight, SharedElementsAccumulate) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %one = const[v=1] : i32
    %j = add(%i, %one) : i32
    %a = load(%x, %i) : f64
    %b = load(%x, %j) : f64
    %p = mul(%a, %b) : f64
    store(%y, %p, %i)
    return()
  })",
                  .args = {array({6}), array({5})},
                  .dim = {5}});
}

TEST(Straight, ScalarAndVectorParameters) {
  check_gradient(
      {.text = R"(kernel @k(%x: array<f64,1>, %dt: f64, %g: vec<3,f64>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %zero = const[v=0] : i32
    %two = const[v=2] : i32
    %a = load(%x, %i) : f64
    %gx = extract(%g, %zero) : f64
    %gz = extract(%g, %two) : f64
    %m = mul(%a, %gx) : f64
    %n = mul(%m, %dt) : f64
    %e = exp(%gz) : f64
    %r = add(%n, %e) : f64
    store(%y, %r, %i)
    return()
  })",
       .args = {array({3}), scalar(0.7), vector({1.2, 0.4, -0.3}), array({3})},
       .dim = {3}});
}

TEST(Straight, VectorsAndMatricesByParts) {
  check_gradient(
      {.text =
           R"(kernel @k(%x: array<vec<2,f64>,1>, %m: array<mat<2,2,f64>,1>, %y: array<vec<2,f64>,1>) {
    %i = tid[dim=0] : i32
    %c0 = const[v=0] : i32
    %c1 = const[v=1] : i32
    %v = load(%x, %i) : vec<2,f64>
    %a = load(%m, %i) : mat<2,2,f64>
    %v0 = extract(%v, %c0) : f64
    %v1 = extract(%v, %c1) : f64
    %row = extract(%a, %c1) : vec<2,f64>
    %r0 = extract(%row, %c0) : f64
    %a01 = extract(%a, %c0, %c1) : f64
    %p = mul(%v0, %r0) : f64
    %q = mul(%v1, %a01) : f64
    %w = make(%p, %q) : vec<2,f64>
    %u = insert(%w, %v1, %c0) : vec<2,f64>
    %b = make(%q, %p, %v0, %v0) : mat<2,2,f64>
    %b2 = insert(%b, %u, %c0) : mat<2,2,f64>
    %b10 = extract(%b2, %c1, %c0) : f64
    %b01 = extract(%b2, %c0, %c1) : f64
    %s = mul(%b10, %b01) : f64
    %out = insert(%u, %s, %c0) : vec<2,f64>
    store(%y, %out, %i)
    return()
  })",
       .args = {array({2}, 2), array({2}, 4), array({2}, 2)},
       .dim = {2}});
}

TEST(Straight, Structs) {
  check_gradient({.text = R"(struct Body { mass: f64, pos: vec<2,f64> }
  kernel @k(%x: array<struct<Body>,1>, %b: struct<Body>, %y: array<struct<Body>,1>) {
    %i = tid[dim=0] : i32
    %c1 = const[v=1] : i32
    %s = load(%x, %i) : struct<Body>
    %m = field(%s)[name=mass] : f64
    %p = field(%s)[name=pos] : vec<2,f64>
    %p1 = extract(%p, %c1) : f64
    %bm = field(%b)[name=mass] : f64
    %bp = field(%b)[name=pos] : vec<2,f64>
    %b1 = extract(%bp, %c1) : f64
    %f = mul(%m, %bm) : f64
    %g = mul(%p1, %b1) : f64
    %h = mul(%f, %g) : f64
    %p2 = insert(%p, %h, %c1) : vec<2,f64>
    %t = set_field(%s, %p2)[name=pos] : struct<Body>
    store(%y, %t, %i)
    return()
  })",
                  .args = {array({3}, 3), vector({1.1, 0.6, 0.8}), array({3}, 3)},
                  .dim = {3}});
}

TEST(Straight, StructOfArrays) {
  check_gradient({.text = R"(struct State { q: array<f64,1>, gain: i32, v: array<f64,1> }
  kernel @k(%s: struct<State>, %dt: f64) {
    %i = tid[dim=0] : i32
    %q = field(%s)[name=q] : array<f64,1>
    %v = field(%s)[name=v] : array<f64,1>
    %a = load(%q, %i) : f64
    %b = load(%v, %i) : f64
    %c = mul(%b, %dt) : f64
    %d = add(%a, %c) : f64
    %e = mul(%d, %b) : f64
    store(%q, %e, %i)
    return()
  })",
                  .args = {fields({array({3}), integer(2), array({3}, 1, 9)}), scalar(0.3)},
                  .dim = {3}});
}

TEST(Straight, SelectTakesOneSide) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %one = const[v=1.0] : f64
    %a = load(%x, %i) : f64
    %c = gt(%a, %one) : bool
    %b = mul(%a, %a) : f64
    %s = select(%c, %b, %a) : f64
    %t = mul(%s, %b) : f64
    store(%y, %t, %i)
    return()
  })",
                  .args = {array({8}), array({8})},
                  .dim = {8}});
}

TEST(Straight, BranchWithResultsAndEffects) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>, %loss: array<f64,1>) {
    %i = tid[dim=0] : i32
    %zero = const[v=0] : i32
    %one = const[v=1.0] : f64
    %a = load(%x, %i) : f64
    %w = mul(%a, %a) : f64
    %c = gt(%a, %one) : bool
    %r, %s = if(%c) : f64, f64 {
      %e = exp(%a) : f64
      %f = mul(%e, %w) : f64
      %old = atomic(%loss, %f, %zero)[kind=add] : f64
      yield(%f, %a)
    } {
      %d = lt(%a, %w) : bool
      %g = if(%d) : f64 {
        %z = sin(%w) : f64
        yield(%z)
      } {
        %h = mul(%w, %a) : f64
        yield(%h)
      }
      store(%y, %g, %i)
      yield(%g, %one)
    }
    %t = mul(%r, %s) : f64
    %old2 = atomic(%loss, %t, %zero)[kind=sub] : f64
    return()
  })",
                  .args = {array({8}), array({8}, 1, 3), array({1})},
                  .dim = {8}});
}

TEST(Straight, UnusedAndIntegerValuesAreInactive) {
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %idx: array<i32,1>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %j = load(%idx, %i) : i32
    %a = load(%x, %j) : f64
    %n = cast(%a) : i32
    %f = cast(%n) : f64
    %b = mul(%a, %f) : f64
    %c = add(%b, %a) : f64
    store(%y, %c, %i)
    return()
  })",
                  .args = {array_of({3}, {0.4, 1.3, 2.6}), integers({2, 0, 2, 1}), array({4})},
                  .dim = {4}});
}

TEST(Straight, CastsBetweenFloats) {
  // f32 in the middle: the derivative is exact, finite differences only to f32 rounding.
  check_gradient({.text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %a = load(%x, %i) : f64
    %n = cast(%a) : f32
    %f = cast(%n) : f64
    %c = mul(%f, %a) : f64
    store(%y, %c, %i)
    return()
  })",
                  .args = {array({4}), array({4})},
                  .dim = {4},
                  .step = 1e-2,
                  .tolerance = 1e-4});
}

}  // namespace
}  // namespace wt::test
