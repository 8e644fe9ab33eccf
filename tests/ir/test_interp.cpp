// SPDX-License-Identifier: Apache-2.0
// test_interp.cpp: the interpreter against values worked out by hand or by the C library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <set>

#include "csrc/codegen/builtins/registry.h"
#include "csrc/codegen/interp/eval_builtin.h"
#include "csrc/codegen/interp/interp.h"
#include "csrc/codegen/support/error.h"

namespace wt::interp {
namespace {

template <class T>
WtArray view_of(T* data, int64_t n, int64_t batch_stride = 0) {
  return {.data = reinterpret_cast<char*>(data),
          .shape = {n, 1, 1, 1},
          .stride = {sizeof(T), 0, 0, 0},
          .batch_stride = batch_stride,
          .ndim = 1,
          .flags = 0};
}

WtLaunch launch_of(int64_t n, int64_t batch = 1) {
  return {.dim = {1, 1, 1, n}, .size = n, .batch = batch, .lanes = 1};
}

/// Runs @k of the text on one array for threads 0..n-1.
template <class T>
void run(const char* text, T* data, int64_t size, int64_t n = 1, Options options = {}) {
  const auto m = ir::parse(text);
  ir::verify(*m);
  const WtArray a = view_of(data, size);
  const void* const params[] = {&a};
  Interpreter(*m, options).run("k", launch_of(n), params, 0, n);
}

TEST(Interp, CoordinatesCountTheLastDimensionFastest) {
  std::array<int32_t, 6> out{};
  const auto m = ir::parse(
      "kernel @k(%o: array<i32,1>) {\n"
      "  %r = tid[dim=2] : i32\n  %c = tid[dim=3] : i32\n  %t = thread() : i64\n"
      "  %ten = const[v=10] : i32\n  %a = mul(%r, %ten) : i32\n  %b = add(%a, %c) : i32\n"
      "  store(%o, %b, %t)\n  return()\n}");
  const WtArray a = view_of(out.data(), 6);
  const void* const params[] = {&a};
  const WtLaunch launch{.dim = {1, 1, 2, 3}, .size = 6, .batch = 1, .lanes = 1};
  Interpreter(*m).run("k", launch, params, 0, 6);
  EXPECT_THAT(out, testing::ElementsAre(0, 1, 2, 10, 11, 12));
}

TEST(Interp, BatchEntriesUseTheBatchStride) {
  std::array<float, 6> data = {1, 2, 3, 10, 20, 30};
  const auto m = ir::parse(
      "kernel @k(%a: array<f32,1>) {\n  %i = tid[dim=3] : i32\n  %x = load(%a, %i) : f32\n"
      "  %y = add(%x, %x) : f32\n  store(%a, %y, %i)\n  return()\n}");
  const WtArray a = view_of(data.data(), 3, 3 * sizeof(float));
  const void* const params[] = {&a};
  Interpreter(*m).run("k", launch_of(3, 2), params, 0, 6);
  EXPECT_THAT(data, testing::ElementsAre(2, 4, 6, 20, 40, 60));
}

TEST(Interp, ArithmeticRoundsToTheType) {
  std::array<float, 2> out{};
  run("kernel @k(%o: array<f32,1>) {\n"
      "  %big = const[v=16777216.0] : f32\n  %one = const[v=1.0] : f32\n"
      "  %s = add(%big, %one) : f32\n  %d = sub(%s, %big) : f32\n"
      "  %i = const[v=0] : i32\n  store(%o, %d, %i)\n"
      "  %h = cast(%big) : f16\n  %back = cast(%h) : f32\n"
      "  %j = const[v=1] : i32\n  store(%o, %back, %j)\n  return()\n}",
      out.data(), 2);
  EXPECT_EQ(out[0], 0.0f);
  EXPECT_TRUE(std::isinf(out[1]));
}

TEST(Interp, SixteenBitArrays) {
  std::array<uint16_t, 2> data = {0x3c00, 0};  // 1.0
  run("kernel @k(%a: array<f16,1>) {\n  %i = const[v=0] : i32\n  %j = const[v=1] : i32\n"
      "  %x = load(%a, %i) : f16\n  %y = add(%x, %x) : f16\n  store(%a, %y, %j)\n  return()\n}",
      data.data(), 2);
  EXPECT_EQ(data[1], 0x4000);  // 2.0
}

TEST(Interp, HistoriesAreValues) {
  std::array<float, 3> out{};
  run("kernel @k(%o: array<f32,1>) {\n"
      "  %n = const[v=-1] : i64\n  %h0 = hist_new(%n) : hist<f32>\n"
      "  %a = const[v=1.0] : f32\n  %b = const[v=2.0] : f32\n  %c = const[v=3.0] : f32\n"
      "  %h1 = hist_push(%h0, %a) : hist<f32>\n"
      "  %h2 = hist_push(%h1, %b) : hist<f32>\n  %g2 = hist_push(%h1, %c) : hist<f32>\n"
      "  %i = const[v=0] : i32\n  %j = const[v=1] : i32\n  %k2 = const[v=2] : i32\n"
      "  %x = hist_get(%h2, %i) : f32\n  %y = hist_get(%h2, %j) : f32\n"
      "  %z = hist_get(%g2, %j) : f32\n"
      "  store(%o, %x, %i)\n  store(%o, %y, %j)\n  store(%o, %z, %k2)\n  return()\n}",
      out.data(), 3);
  EXPECT_THAT(out, testing::ElementsAre(1, 2, 3));
}

TEST(Interp, AtomicsReturnTheOldValue) {
  std::array<int32_t, 4> data = {5, 0, 7, 0};
  run("kernel @k(%a: array<i32,1>) {\n"
      "  %0 = const[v=0] : i32\n  %1 = const[v=1] : i32\n  %2 = const[v=2] : i32\n"
      "  %3 = const[v=3] : i32\n  %x = const[v=3] : i32\n  %seven = const[v=7] : i32\n"
      "  %old = atomic(%a, %x, %0)[kind=add] : i32\n  store(%a, %old, %1)\n"
      "  %was = atomic_cas(%a, %seven, %x, %2) : i32\n  store(%a, %was, %3)\n  return()\n}",
      data.data(), 4);
  EXPECT_THAT(data, testing::ElementsAre(8, 5, 3, 7));
}

struct Body {
  float m;
  float pos[3];
  int32_t id;
};

TEST(Interp, StructsKeepTheirLayoutInMemory) {
  Body b[2] = {{1, {2, 3, 4}, 5}, {}};
  run("struct Body { m: f32, pos: vec<3,f32>, id: i32 }\n"
      "kernel @k(%a: array<struct<Body>,1>) {\n"
      "  %0 = const[v=0] : i32\n  %1 = const[v=1] : i32\n  %2 = const[v=2] : i32\n"
      "  %b = load(%a, %0) : struct<Body>\n  %p = field(%b)[name=pos] : vec<3,f32>\n"
      "  %z = extract(%p, %2) : f32\n  %c = set_field(%b, %z)[name=m] : struct<Body>\n"
      "  %q = insert(%p, %z, %0) : vec<3,f32>\n"
      "  %d = set_field(%c, %q)[name=pos] : struct<Body>\n  store(%a, %d, %1)\n  return()\n}",
      b, 2);
  EXPECT_EQ(b[1].m, 4);
  EXPECT_EQ(b[1].pos[0], 4);
  EXPECT_EQ(b[1].pos[1], 3);
  EXPECT_EQ(b[1].id, 5);
}

TEST(Interp, LoopsFollowTheirFlag) {
  std::array<int32_t, 2> out{};
  // 27 reaches 1 after 111 steps of the Collatz rule; the highest value is 9232.
  run("kernel @k(%o: array<i32,1>) {\n"
      "  %0 = const[v=0] : i32\n  %1 = const[v=1] : i32\n  %3 = const[v=3] : i32\n"
      "  %start = const[v=27] : i32\n  %yes = const[v=1] : bool\n"
      "  %w, %n, %top, %x = while(%yes, %0, %0, %start) : bool, i32, i32, i32 "
      "{ (%go: bool, %n.1: i32, %top.1: i32, %x.1: i32)\n"
      "    %odd = bit_and(%x.1, %1) : i32\n    %is_odd = eq(%odd, %1) : bool\n"
      "    %t = mul(%x.1, %3) : i32\n    %up = add(%t, %1) : i32\n"
      "    %down = rshift(%x.1, %1) : i32\n    %y = select(%is_odd, %up, %down) : i32\n"
      "    %m = max(%top.1, %y) : i32\n    %k = add(%n.1, %1) : i32\n"
      "    %more = ne(%y, %1) : bool\n    yield(%more, %k, %m, %y)\n  }\n"
      "  store(%o, %n, %0)\n  store(%o, %top, %1)\n  return()\n}",
      out.data(), 2);
  EXPECT_EQ(out[0], 111);
  EXPECT_EQ(out[1], 9232);
}

TEST(Interp, PrintsAndChecks) {
  float x = 0.5f;
  std::string output;
  const char* text =
      "kernel @k(%a: array<f32,1>) {\n  %i = const[v=0] : i32\n  %x = load(%a, %i) : f32\n"
      "  %s = const[v=\"x =\"] : str\n  print(%s, %x)\n"
      "  %nil = const[v=0.0] : f32\n  %c = lt(%x, %nil) : bool\n"
      "  %msg = const[v=\"x is not negative\"] : str\n  assert(%c, %msg) loc(k.py:7:3)\n"
      "  return()\n}";
  try {
    run(text, &x, 1, 1, {.check_bounds = true, .max_ops = 0, .output = &output});
    ADD_FAILURE() << "the assert held";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("k.py:7:3"));
    EXPECT_THAT(e.what(), testing::HasSubstr("x is not negative"));
  }
  EXPECT_EQ(output, "x = 0.5\n");
}

TEST(Interp, RefusesIndicesOutsideAndEndlessLoops) {
  float x = 0;
  const char* outside =
      "kernel @k(%a: array<f32,1>) {\n  %i = const[v=1] : i32\n  %x = load(%a, %i) : f32\n"
      "  return()\n}";
  EXPECT_THROW(run(outside, &x, 1), Error);
  const char* endless =
      "kernel @k(%a: array<f32,1>) {\n  %yes = const[v=1] : bool\n"
      "  %w = while(%yes) : bool { (%go: bool)\n    yield(%go)\n  }\n  return()\n}";
  EXPECT_THROW(run(endless, &x, 1, 1, {.check_bounds = true, .max_ops = 1000, .output = nullptr}),
               Error);
}

TEST(Interp, ReadsTheArgumentBlock) {
  struct Block {
    WtLaunch launch;
    bool flag;
    double x;
    WtArray a;
    int32_t n;
  };
  double out = 0;
  const auto m = ir::parse(
      "kernel @k(%flag: bool, %x: f64, %a: array<f64,1>, %n: i32) {\n"
      "  %i = const[v=0] : i32\n  %y = cast(%n) : f64\n  %z = mul(%x, %y) : f64\n"
      "  %w = select(%flag, %z, %x) : f64\n  store(%a, %w, %i)\n  return()\n}\n"
      "func @trips(%flag: bool, %x: f64, %a: array<f64,1>, %n: i32) -> i64 {\n"
      "  %s = shape(%a)[dim=0] : i32\n  %m = mul(%s, %n) : i32\n  %r = cast(%m) : i64\n"
      "  return(%r)\n}");
  Block b{};
  b.launch = launch_of(1);
  b.flag = true;
  b.x = 2.5;
  b.a = view_of(&out, 1);
  b.n = 6;
  Interpreter run(*m);
  run.run("k", &b, 0, 1);
  EXPECT_EQ(out, 15.0);
  b.a.shape[0] = 7;
  EXPECT_EQ(run.call_int(*m->find("trips"), &b), 42);
  const auto* bytes = reinterpret_cast<const char*>(&b);
  EXPECT_EQ(eval_size(*m->find("trips"), std::vector<char>(bytes, bytes + sizeof b)), 42);
}

TEST(Interp, IntegersWrapAndDivideAsTheRowsSay) {
  const auto eval = [](std::string_view name, int64_t a, int64_t b, ir::Scalar s) {
    const ir::Type t = ir::scalar_type(s);
    const Cell x{.i = a};
    const Cell y{.i = b};
    const Operand in[] = {{t, &x}, {t, &y}};
    const ir::Type results[] = {t};
    Cell r{.i = -77};
    Cell* const out[] = {&r};
    EXPECT_TRUE(eval_builtin(name, in, results, out)) << name;
    return r.i;
  };
  EXPECT_EQ(eval("add", 100, 100, ir::Scalar::kI8), -56);
  EXPECT_EQ(eval("sub", 1, 2, ir::Scalar::kU8), 255);
  EXPECT_EQ(eval("div", -7, 2, ir::Scalar::kI32), -3);
  EXPECT_EQ(eval("floordiv", -7, 2, ir::Scalar::kI32), -4);
  EXPECT_EQ(eval("mod", -7, 2, ir::Scalar::kI32), -1);
  EXPECT_EQ(eval("div", 5, 0, ir::Scalar::kI32), 0);
  EXPECT_EQ(eval("mod", 5, 0, ir::Scalar::kI32), 5);
  EXPECT_EQ(eval("div", INT64_MIN, -1, ir::Scalar::kI64), INT64_MIN);
  EXPECT_EQ(eval("div", -1, 2, ir::Scalar::kU64), INT64_MAX);
  EXPECT_EQ(eval("lshift", 1, 33, ir::Scalar::kI32), 2);
  EXPECT_EQ(eval("rshift", -8, 1, ir::Scalar::kI32), -4);
  EXPECT_EQ(eval("pow", 3, 4, ir::Scalar::kI32), 81);
  EXPECT_EQ(eval("max", -1, 1, ir::Scalar::kU64), -1);
}

/// Rows of the operators and the scalar functions that no table covers.
TEST(Interp, CoversTheScalarRows) {
  const std::set<std::string_view> kOpen = {"erfinv", "erfcinv", "digamma", "trigamma",
                                            "tetragamma"};
  std::set<std::string_view> missing;
  for (const BuiltinDef* row : builtins::all_rows()) {
    if (row->group != "Operators" && row->group != "Scalar math") continue;
    for (const ir::Type t : {ir::f32_type(), ir::i32_type(), ir::bool_type()}) {
      for (size_t n = 1; n <= 3; ++n) {
        std::vector<builtins::Arg> args(n, {.type = t});
        if (row->name == "where" || row->name == "select") args[0].type = ir::bool_type();
        const builtins::Overload found = builtins::resolve(row->name, args);
        if (found.def != row) continue;
        const Cell cell{.i = 0};
        std::vector<Operand> in;
        for (const auto& a : args) in.push_back({a.type, &cell});
        Cell results[2] = {};
        Cell* const out[] = {&results[0], &results[1]};
        if (!eval_builtin(row->name, in, found.results, out)) missing.insert(row->name);
      }
    }
  }
  EXPECT_EQ(missing, kOpen);
}

}  // namespace
}  // namespace wt::interp
