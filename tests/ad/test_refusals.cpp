// SPDX-License-Identifier: Apache-2.0
// test_refusals.cpp: what has no derivative is refused, at its line, with a remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "csrc/codegen/passes/passes.h"
#include "tests/ad/gradient_check.h"

namespace wt::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Refusals, ArrayWithoutGradientOnThePath) {
  const char* text = R"(kernel @k(%x: array<f64,1>, %tmp: array<f64,1>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %one = const[v=1] : i32
    %j = add(%i, %one) : i32
    %a = load(%x, %i) : f64
    store(%tmp, %a, %i)
    %b = load(%tmp, %j) : f64 loc(step.py:7:9)
    store(%y, %b, %i)
    return()
  })";
  EXPECT_THAT(refusal(text, {true, false, true}),
              AllOf(HasSubstr("'tmp'"), HasSubstr("requires_grad"), HasSubstr("step.py"),
                    HasSubstr("7"), HasSubstr("WT302")));
  EXPECT_EQ(refusal(text), "");
  // Without a reader, or without a varied value, nothing is lost.
  EXPECT_EQ(refusal(text, {true, false, false}), "");
  EXPECT_EQ(refusal(text, {false, false, true}), "");
}

TEST(Refusals, AtomicMinimumThatIsAlsoRead) {
  EXPECT_THAT(refusal(R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %z = const[v=0] : i32
    %a = load(%x, %i) : f64
    %o = atomic(%y, %a, %z)[kind=min] : f64 loc(step.py:5:3)
    %b = load(%y, %i) : f64
    store(%x, %b, %i)
    return()
  })"),
              AllOf(HasSubstr("atomic_min"), HasSubstr("'y'"), HasSubstr("WT303")));
}

TEST(Refusals, ReturnedValueOfAnAtomicInAResult) {
  const char* text = R"(kernel @k(%x: array<f64,1>, %sum: array<f64,1>, %y: array<f64,1>) {
    %i = tid[dim=0] : i32
    %z = const[v=0] : i32
    %a = load(%x, %i) : f64
    %o = atomic(%sum, %a, %z)[kind=add] : f64
    store(%y, %o, %i)
    return()
  })";
  EXPECT_THAT(refusal(text),
              AllOf(HasSubstr("atomic_add"), HasSubstr("'sum'"), HasSubstr("WT304")));
  EXPECT_THAT(refusal(text, {true, false, true}), HasSubstr("WT302"));
}

TEST(Refusals, LogOfUnknownLength) {
  EXPECT_THAT(refusal(R"(kernel @k(%x: array<f64,1>) {
    %t = tid[dim=0] : i32
    %end = const[v=3.0] : f64
    %s0 = load(%x, %t) : f64
    %go0 = lt(%s0, %end) : bool
    %go = while(%go0) : bool { (%g: bool)
      %a = load(%x, %t) : f64
      %c = mul(%a, %a) : f64
      store(%x, %c, %t)
      %h = lt(%c, %end) : bool
      yield(%h)
    }
    return()
  })"),
              AllOf(HasSubstr("'x'"), HasSubstr("loop_bound"), HasSubstr("WT305")));
}

TEST(Refusals, ArrayVariableWithAndWithoutGradient) {
  const char* text = R"(kernel @k(%x: array<f64,1>, %y: array<f64,1>, %z: array<f64,1>, %c: bool) {
    %i = tid[dim=0] : i32
    %s = select(%c, %x, %y) : array<f64,1>
    %a = load(%s, %i) : f64
    store(%z, %a, %i)
    return()
  })";
  EXPECT_THAT(refusal(text, {true, false, true, false}), HasSubstr("WT306"));
  EXPECT_EQ(refusal(text), "");
}

TEST(Refusals, ArraysMadeInALoop) {
  EXPECT_THAT(refusal(R"(kernel @k(%x: array<f64,2>, %n: i32) {
    %t = tid[dim=0] : i32
    %zero = const[v=0] : i32
    %row = view(%x, %zero) : array<f64,1>
    %a = for(%n, %row) : array<f64,1> { (%i: i32, %p: array<f64,1>)
      %v = load(%p, %t) : f64
      %w = sin(%v) : f64
      %q = view(%x, %i) : array<f64,1>
      store(%q, %w, %t)
      yield(%q)
    }
    return()
  })"),
              AllOf(HasSubstr("changes inside a loop"), HasSubstr("WT306")));
}

TEST(Refusals, ReverseOfReverse) {
  const char* text = R"(kernel @k(%x: array<f64,1>, %loss: array<f64,1>, %n: i32) {
    %z = const[v=0] : i32
    %s0 = load(%x, %z) : f64
    %s = for(%n, %s0) : f64 { (%i: i32, %s1: f64)
      %a = sin(%s1) : f64
      yield(%a)
    }
    %o = atomic(%loss, %s, %z)[kind=add] : f64
    return()
  })";
  const auto m = ir::parse(text);
  constexpr std::string_view kReverse[] = {"reverse"};
  passes::run(*m, kReverse);
  EXPECT_THAT(refusal(ir::print(*m)), HasSubstr("WT307"));
}

}  // namespace
}  // namespace wt::test
