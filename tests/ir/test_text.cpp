// SPDX-License-Identifier: Apache-2.0
// test_text.cpp: printer and parser agree: types, numbers, and every golden file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/ir/scalar_value.h"
#include "csrc/codegen/support/error.h"

namespace wt::ir {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The value that is left of a literal after print and parse.
double through_text(double v, Type type) {
  Module m;
  m.funcs.push_back(std::make_unique<Func>());
  Func& f = *m.funcs.back();
  f.kernel = true;
  f.name = "k";
  Builder b(&f.body);
  b.const_float(v, type);
  b.ret();
  const auto back = parse(print(m));
  return std::get<double>(*back->funcs[0]->body.ops[0]->attr("v"));
}

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST(Text, PrintOfParseIsAFixedPointForEveryGoldenFile) {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests")) {
    if (entry.path().extension() != ".wir") continue;
    const std::string text = read_file(entry.path());
    if (text.find("RUN-FAIL:") != std::string::npos) continue;
    SCOPED_TRACE(entry.path().string());
    const std::string once = print(*parse(text));
    EXPECT_EQ(print(*parse(once)), once);
    ++files;
  }
  EXPECT_GT(files, 20);
}

TEST(Text, FloatLiteralsKeepTheirBits) {
  const double special[] = {0.0,
                            -0.0,
                            1.0,
                            0.1,
                            1e300,
                            5e-324,
                            std::numeric_limits<double>::max(),
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(),
                            std::nan("")};
  for (const double v : special) {
    for (const Type t : {f64_type(), f32_type(), scalar_type(Scalar::kF16)}) {
      const double want = round_float(v, t->scalar);
      EXPECT_TRUE(same_bits(through_text(v, t), want)) << v << " as " << to_string(t);
    }
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t bits = random();
    double v = 0;
    std::memcpy(&v, &bits, sizeof v);
    if (std::isnan(v)) continue;
    EXPECT_TRUE(same_bits(through_text(v, f64_type()), v)) << v;
    const auto narrow = static_cast<uint32_t>(bits);
    float f = 0;
    std::memcpy(&f, &narrow, sizeof f);
    if (std::isnan(f)) continue;
    EXPECT_TRUE(same_bits(through_text(f, f32_type()), f)) << f;
  }
}

TEST(Text, TypesReadBackAsTheSamePointer) {
  const Type body = struct_type("Body", {{"m", f32_type()}, {"x", vec_type(3, Scalar::kF64)}});
  const Type types[] = {bool_type(),
                        scalar_type(Scalar::kBF16),
                        vec_type(9, Scalar::kU8),
                        mat_type(2, 3, Scalar::kF16),
                        quat_type(Scalar::kF32),
                        xform_type(Scalar::kF64),
                        local_type(vec_type(2, Scalar::kF32), {4, 5}),
                        array_type(body, 4),
                        hist_type(body),
                        local_type(body, {2})};
  for (const Type t : types) {
    Module m;
    m.funcs.push_back(std::make_unique<Func>());
    m.funcs[0]->name = "f";
    m.funcs[0]->body.add_arg(t, "x");
    Builder(&m.funcs[0]->body).ret();
    EXPECT_EQ(parse(print(m))->funcs[0]->body.args[0]->type, t) << print(m);
  }
}

TEST(Text, LocKeepsFileLineAndColumns) {
  const auto m =
      parse("kernel @k() {\n  %x = const[v=1] : i32 loc(\"a b.py\":3:4-9)\n  return()\n}");
  const Loc& loc = m->funcs[0]->body.ops[0]->loc;
  EXPECT_EQ(*loc.file, "a b.py");
  EXPECT_EQ(loc.line, 3);
  EXPECT_EQ(loc.col, 4);
  EXPECT_EQ(loc.end_col, 9);
}

struct BadText {
  const char* text;
  const char* message;
};

TEST(Text, ErrorsNameTheLine) {
  const BadText cases[] = {
      {"kernel @k(%x f32) {}", "line 1: expected ':', got 'f32'"},
      {"kernel @k(%x: vec<3,f31>) {}", "line 1: no scalar type f31"},
      {"kernel @k(%x: array<f32,7>) {}", "line 1: an array has 1 to 4 dimensions"},
      {"kernel @k(%x: struct<S>) {}", "line 1: struct S is not declared"},
      {"struct S { a: f32 }\nstruct S { a: f32 }", "line 2: struct S is declared twice"},
      {"kernel @k() {\n  %x = const[v=1]\n}", "line 2: const has 1 result names and 0 types"},
      {"kernel @k() {\n  %x = const[v=a] : i32\n}", "line 2: const of type i32 wants a number"},
      {"kernel @k() {\n\n  return()\n", "line 4: expected an op, got 'the end of the text'"},
      {"kernel @k(%x: f32, %y: f64) {\n  %z = add(%x, %y) : f32\n}",
       "line 2: no op or builtin add for these operands"},
      {"kernel @k(%x: f32) {\n  %z = add(%x, %x) : f64\n}", "line 2: add returns (f32)"},
      {"x", "line 1: expected struct, kernel or func, got 'x'"},
  };
  for (const BadText& c : cases) {
    try {
      parse(c.text);
      ADD_FAILURE() << "no error for " << c.text;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr(c.message));
    }
  }
}

TEST(ScalarValue, NarrowFloatsRoundToNearestEven) {
  EXPECT_EQ(round_float(2049, Scalar::kF16), 2048);
  EXPECT_EQ(round_float(2051, Scalar::kF16), 2052);
  EXPECT_EQ(round_float(65519, Scalar::kF16), 65504);
  EXPECT_TRUE(std::isinf(round_float(65520, Scalar::kF16)));
  EXPECT_EQ(round_float(std::ldexp(1, -24), Scalar::kF16), std::ldexp(1, -24));
  EXPECT_EQ(round_float(std::ldexp(1, -25), Scalar::kF16), 0);
  EXPECT_EQ(round_float(257, Scalar::kBF16), 256);
  EXPECT_EQ(round_float(259, Scalar::kBF16), 260);
}

TEST(ScalarValue, SixteenBitFormsAreInverse) {
  for (const Scalar s : {Scalar::kF16, Scalar::kBF16}) {
    for (int bits = 0; bits < 65536; ++bits) {
      const double v = float_from_bits16(static_cast<uint16_t>(bits), s);
      if (std::isnan(v)) continue;
      ASSERT_EQ(float_to_bits16(v, s), bits);
    }
  }
  EXPECT_EQ(float_from_bits16(0x3c00, Scalar::kF16), 1.0);
  EXPECT_EQ(float_from_bits16(0x3f80, Scalar::kBF16), 1.0);
  EXPECT_EQ(float_from_bits16(0xc000, Scalar::kF16), -2.0);
}

TEST(Types, LayoutIsThatOfC) {
  struct C {
    bool flag;
    double x;
    float v[3];
    int16_t n;
  };
  const Type t = struct_type("C", {{"flag", bool_type()},
                                   {"x", f64_type()},
                                   {"v", vec_type(3, Scalar::kF32)},
                                   {"n", scalar_type(Scalar::kI16)}});
  EXPECT_EQ(size_of(t), sizeof(C));
  EXPECT_EQ(align_of(t), alignof(C));
  EXPECT_EQ(field_offset(t, 1), offsetof(C, x));
  EXPECT_EQ(field_offset(t, 2), offsetof(C, v));
  EXPECT_EQ(field_offset(t, 3), offsetof(C, n));
}

}  // namespace
}  // namespace wt::ir
