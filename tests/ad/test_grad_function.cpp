// SPDX-License-Identifier: Apache-2.0
// test_grad_function.cpp: gradients of functions inside a kernel, and their derivatives.
#include <gtest/gtest.h>

#include "tests/ad/gradient_check.h"

namespace wt::test {
namespace {

TEST(GradFunction, CubeOfAnElement) {
  check_gradient({.text = R"(
  func @cube(%x: f64) -> f64 {
    %a = mul(%x, %x) : f64
    %b = mul(%a, %x) : f64
    return(%b)
  }
  func @grad_cube(%x: f64) -> f64 [gradient_of=cube] {
    %z = zero() : f64
    return(%z)
  }
  kernel @k(%x: array<f64,1>, %loss: array<f64,1>) {
    %i = tid[dim=0] : i32
    %z = const[v=0] : i32
    %a = load(%x, %i) : f64
    %g = call(%a)[callee=grad_cube] : f64
    %h = mul(%g, %g) : f64
    %o = atomic(%loss, %h, %z)[kind=add] : f64
    return()
  })",
                  .args = {array_of({2}, {1.5, 2.0}), array({1})},
                  .dim = {2}});
}

TEST(GradFunction, SeveralParametersALoopAndABranch) {
  check_gradient({.text = R"(
  func @f(%x: f64, %n: i32, %g: f64) -> f64 {
    %one = const[v=1.0] : f64
    %s = for(%n, %x) : f64 { (%i: i32, %s1: f64)
      %c = gt(%s1, %one) : bool
      %r = if(%c) : f64 {
        %p = mul(%s1, %g) : f64
        %q = sin(%p) : f64
        yield(%q)
      } {
        %u = exp(%s1) : f64
        yield(%u)
      }
      yield(%r)
    }
    return(%s)
  }
  func @grad_f(%x: f64, %n: i32, %g: f64) -> f64, f64 [gradient_of=f] {
    %z = zero() : f64
    return(%z, %z)
  }
  kernel @k(%x: array<f64,1>, %y: array<f64,1>, %g: f64, %n: i32) {
    %i = tid[dim=0] : i32
    %a = load(%x, %i) : f64
    %u, %v = call(%a, %n, %g)[callee=grad_f] : f64, f64
    %h = mul(%u, %v) : f64
    store(%y, %h, %i)
    return()
  })",
                  .args = {array({3}), array({3}), scalar(0.8), integer(4)},
                  .dim = {3},
                  .slots = {1, 2, 64}});
}

TEST(GradFunction, GradientOfAGradient) {
  const Outcome out = check_gradient({.text = R"(
  func @f(%x: f64) -> f64 {
    %a = sin(%x) : f64
    %b = mul(%a, %x) : f64
    return(%b)
  }
  func @d2(%x: f64) -> f64 [gradient_of=d1] {
    %z = zero() : f64
    return(%z)
  }
  func @d1(%x: f64) -> f64 [gradient_of=f] {
    %z = zero() : f64
    return(%z)
  }
  kernel @k(%x: array<f64,1>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %a = load(%x, %i) : f64
    %b = call(%a)[callee=d2] : f64
    store(%y, %b, %i)
    return()
  })",
                                      .args = {array({3}), array({3})},
                                      .dim = {3}});
  EXPECT_TRUE(out.adjoint.tape.empty());
}

}  // namespace
}  // namespace wt::test
