// SPDX-License-Identifier: Apache-2.0
// test_second.cpp: second derivatives: reverse mode of forward mode, forward of reverse.
#include <gtest/gtest.h>

#include "tests/ad/gradient_check.h"
#include "tests/ad/random_kernel.h"

namespace wt::test {
namespace {

/// The tangent kernel of `text` as a case of its own: arguments, then tangents.
Case tangent_case(const std::string& text, std::vector<Arg> args, std::vector<Arg> tangents,
                  std::vector<int64_t> dim) {
  Case c{.text = tangent_text(text), .args = std::move(args), .dim = std::move(dim)};
  for (Arg& t : tangents) c.args.push_back(std::move(t));
  return c;
}

TEST(Second, ReverseOfForwardOfALoop) {
  Case c = tangent_case(R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>, %g: f64, %n: i32) {
    %t = tid[dim=0] : i32
    %s0 = load(%x, %t) : f64
    %s = for(%n, %s0) : f64 { (%i: i32, %s1: f64)
      %a = sin(%s1) : f64
      %b = mul(%a, %g) : f64
      %c = add(%s1, %b) : f64
      yield(%c)
    }
    store(%y, %s, %t)
    return()
  })",
                        {array({3}), array({3}), scalar(0.4), integer(4)},
                        {array({3}, 1, 5), array({3}, 1, 6), scalar(0.8)}, {3});
  c.slots = {1, 2, 64};
  check_gradient(c);
}

TEST(Second, ReverseOfForwardInPlace) {
  check_gradient(tangent_case(R"(kernel @k(%q: array<f64,1>, %p: array<f64,1>) {
    %i = tid[dim=0] : i32
    %zero = const[v=0] : i32
    %a = load(%q, %i) : f64
    %g = load(%p, %zero) : f64
    %s = sin(%a) : f64
    %m = mul(%s, %g) : f64
    %r = add(%a, %m) : f64
    store(%q, %r, %i)
    return()
  })",
                              {array({3}), array({1})}, {array({3}, 1, 5), array({1}, 1, 6)}, {3}));
}

TEST(Second, RandomKernels) {
  int checked = 0;
  for (unsigned seed = 1; seed <= 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case c = tangent_case(random_kernel(seed),
                          {array({5}), array({2}, 1, 1), array({2, 4}, 1, 2), array({1}),
                           scalar(0.7), vector({0.4, -0.3, 1.1}), integer(2), integers({0, 1})},
                          {array({5}, 1, 11), array({2}, 1, 12), array({2, 4}, 1, 13),
                           array({1}, 1, 14), scalar(0.2), vector({0.3, 0.5, -0.6})},
                          {2});
    c.slots = {2, 64};
    c.tolerance = 4e-6;
    c.kinks = true;
    check_gradient(c);
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
}  // namespace wt::test
