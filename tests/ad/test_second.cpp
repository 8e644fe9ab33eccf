// SPDX-License-Identifier: Apache-2.0
// test_second.cpp: second derivatives: reverse mode of forward mode, forward of reverse.
#include <gtest/gtest.h>

#include "tests/ad/gradient_check.h"

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

}  // namespace
}  // namespace wt::test
