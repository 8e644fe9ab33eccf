// SPDX-License-Identifier: Apache-2.0
// test_verifier.cpp: each rule of the verifier is broken once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/support/error.h"

namespace wt::ir {
namespace {

struct Broken {
  const char* ops;   ///< body of a kernel, without return
  const char* rule;  ///< part of the message
};

constexpr const char* kHead =
    "struct S { a: f32, b: i32 }\n"
    "func @f(%x: f32) -> f32 {\n  return(%x)\n}\n"
    "kernel @other() {\n  return()\n}\n"
    "kernel @k(%x: f32, %n: i32, %c: bool, %v: vec<3,f32>, %s: struct<S>, %a: array<f32,2>,\n"
    "          %l: i64) {\n";

class EveryRule : public testing::TestWithParam<Broken> {};

TEST_P(EveryRule, IsChecked) {
  const auto m = parse(std::string(kHead) + GetParam().ops + "\n  return()\n}\n");
  try {
    verify(*m, "fold");
    ADD_FAILURE() << "no error";
  } catch (const InternalError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("after pass fold: in @k"));
    EXPECT_THAT(e.what(), testing::HasSubstr(GetParam().rule));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ops, EveryRule,
    testing::Values(Broken{"%q = const() : f32", "const[v]"}, Broken{"%q = zero() : str", "zero"},
                    Broken{"%q = make(%x, %x) : vec<3,f32>", "make"},
                    Broken{"%q = make(%x, %x) : struct<S>", "make"},
                    Broken{"%q = extract(%v, %x) : f32", "extract"},
                    Broken{"%q = extract(%v, %n) : f64", "extract"},
                    Broken{"%q = insert(%v, %n, %n) : vec<3,f32>", "insert"},
                    Broken{"%q = field(%s)[name=z] : f32", "field"},
                    Broken{"%q = set_field(%s, %x)[name=b] : struct<S>", "set_field"},
                    Broken{"%q = cast(%v) : vec<2,f64>", "cast"},
                    Broken{"%q = select(%n, %x, %x) : f32", "select"},
                    Broken{"%q = select(%c, %x, %n) : f32", "select"},
                    Broken{"%q = tid[dim=4] : i32", "tid"}, Broken{"%q = lane() : i32", "lane"},
                    Broken{"%q = thread() : i32", "thread"},
                    Broken{"%q = load(%a, %n) : f32", "load"},
                    Broken{"%q = load(%a, %n, %x) : f32", "load"},
                    Broken{"store(%a, %n, %n, %n)", "store"},
                    Broken{"%q = atomic(%a, %x, %n, %n)[kind=avg] : f32", "atomic"},
                    Broken{"%q = atomic_cas(%a, %x, %n, %n) : f32", "atomic_cas"},
                    Broken{"%q = view(%a, %n, %n) : array<f32,1>", "view"},
                    Broken{"%q = part(%a, %n) : array<f32,2>", "part"},
                    Broken{"%q = part(%a)[name=a] : array<f32,2>", "part"},
                    Broken{"%q = shape(%a)[dim=2] : i32", "shape"},
                    Broken{"%q = is_null(%x) : bool", "is_null"}));

INSTANTIATE_TEST_SUITE_P(
    Control, EveryRule,
    testing::Values(
        Broken{"if(%n) {\n yield()\n} {\n yield()\n}", "if(bool)"},
        Broken{"if(%c) {\n yield()\n}", "two regions"},
        Broken{"%q = if(%c) : f32 {\n yield(%x)\n} {\n yield(%n)\n}", "if(bool)"},
        Broken{"for(%x) { (%i: i32)\n yield()\n}", "for(integer"},
        Broken{"%q = for(%n, %x) : f32 { (%i: i32)\n yield(%x)\n}", "for(integer"},
        Broken{"%q = for(%n, %x) : f32 { (%i: i32, %y: f32)\n yield()\n}", "for(integer"},
        Broken{"while(%c) { (%g: bool)\n yield(%g)\n}", "while(bool"},
        Broken{"%q = while(%c) : bool { (%g: bool)\n yield(%x)\n}", "while(bool"},
        Broken{"yield()", "ends in yield"},
        Broken{"for(%n) { (%i: i32)\n %y = tid[dim=0] : i32\n}", "ends in yield"},
        Broken{"for(%n) { (%i: i32)\n return()\n}", "ends in yield"},
        Broken{"for(%n) { (%i: i32)\n}", "ends in yield"},
        Broken{"for(%n) { (%i: i32)\n %y = neg(%i) : i32\n yield()\n}\n %z = neg(%y) : i32",
               "operands are defined before"},
        Broken{"%y = neg(%x) : f32 {\n yield()\n}", "only if, for and while nest"}));

INSTANTIATE_TEST_SUITE_P(
    Rest, EveryRule,
    testing::Values(
        Broken{"%q = call(%x) : f32", "call"},
        Broken{"%q = call(%x)[callee=g] : f32", "function of the module"},
        Broken{"call()[callee=other]", "no kernel"},
        Broken{"%q = call(%n)[callee=f] : f32", "callee's parameters"},
        Broken{"%q = call(%x)[callee=f] : f64", "callee's results"},
        Broken{"%q = get(%x) : f32", "get"}, Broken{"set(%x, %x)", "set"},
        Broken{"%r = var() : f32\n %q = neg(%r) : f32", "used by get and set"},
        Broken{"%r = var() : f32\n set(%r, %n)", "set"},
        Broken{"%q = hist_new(%n) : hist<f32>", "hist_new"},
        Broken{"%h = hist_new(%l) : hist<f32>\n %q = hist_push(%h, %n) : hist<f32>", "hist_push"},
        Broken{"%h = hist_new(%l) : hist<f32>\n %q = hist_get(%h, %x) : f32", "hist_get"},
        Broken{"assert(%c, %x)", "assert"}, Broken{"loop_bound(%x)", "loop_bound"}));

TEST(Verifier, AcceptsVariablesOnlyBeforeMem2reg) {
  const auto m = parse("kernel @k() {\n  %v = var() : f32\n  return()\n}");
  EXPECT_NO_THROW(verify(*m));
  EXPECT_THROW(verify(*m, "mem2reg"), InternalError);
}

TEST(Verifier, ReturnsWhatTheFunctionDeclares) {
  const auto m = parse("func @f(%x: f32) -> f32 {\n  return()\n}");
  EXPECT_THROW(verify(*m), InternalError);
}

TEST(Verifier, NamesAreUnique) {
  const auto m = parse("func @f() {\n  return()\n}\nfunc @f() {\n  return()\n}");
  EXPECT_THROW(verify(*m), InternalError);
}

TEST(Verifier, ChecksBuiltinSignatures) {
  const auto m = parse("kernel @k(%x: f32) {\n  %y = add(%x, %x) : f32\n  return()\n}");
  EXPECT_NO_THROW(verify(*m));
  m->funcs[0]->body.ops[0]->operands.pop_back();
  EXPECT_THROW(verify(*m), InternalError);
}

TEST(Verifier, ChecksTheLinksOfTheTree) {
  const auto m = parse("kernel @k(%x: f32) {\n  %y = neg(%x) : f32\n  return()\n}");
  Op& op = *m->funcs[0]->body.ops[0];
  op.parent = nullptr;
  EXPECT_THROW(verify(*m), InternalError);
  op.parent = &m->funcs[0]->body;
  op.result()->def = nullptr;
  EXPECT_THROW(verify(*m), InternalError);
}

}  // namespace
}  // namespace wt::ir
