// SPDX-License-Identifier: Apache-2.0
// test_type_text.cpp: type text to IR types and to the names that users know; literals.
#include <gtest/gtest.h>

#include "csrc/codegen/ast/frontend.h"
#include "csrc/codegen/lower/type_text.h"
#include "csrc/codegen/lower/val.h"
#include "csrc/codegen/support/error.h"

namespace wt::lower_detail {
namespace {

std::unique_ptr<ast::Unit> unit() {
  return ast::default_frontend().parse(
      "(unit (struct Inner (field v vec<3,f32>)) (struct Outer (field a i32) "
      "(field inner struct<Inner>) (field data array<struct<Inner>,2>)))");
}

TEST(TypeText, ParsesWhatTheIrPrints) {
  const auto u = unit();
  const TypeTable types(*u);
  for (const std::string_view text :
       {"f32", "bool", "u64", "bf16", "vec<3,f64>", "mat<2,5,f16>", "quat<f32>", "xform<f64>",
        "array<vec<3,f32>,4>", "local<mat<3,3,f32>,4,2>", "struct<Outer>",
        "array<struct<Inner>,1>"}) {
    EXPECT_EQ(ir::to_string(types.parse(text)), text);
  }
  const ir::Type outer = types.parse("struct<Outer>");
  EXPECT_EQ(outer->fields.size(), 3u);
  EXPECT_EQ(outer->fields[2].type->elem, types.parse("struct<Inner>"));
  EXPECT_EQ(types.declaration(outer)->name, "Outer");
  for (const std::string_view text : {"f33", "vec<3>", "struct<Nothing>", "vec<x,f32>", ""}) {
    EXPECT_THROW(types.parse(text), InternalError) << text;
  }
}

TEST(TypeText, GenericTextFitsByItsPlaceholders) {
  const auto u = unit();
  const TypeTable types(*u);
  const auto fits = [&](std::string_view generic, std::string_view type) {
    return types.fits(generic, types.parse(type));
  };
  EXPECT_TRUE(fits("Any", "array<vec<3,f32>,2>"));
  EXPECT_TRUE(fits("Float", "f16"));
  EXPECT_FALSE(fits("Float", "i32"));
  EXPECT_TRUE(fits("Int", "u8"));
  EXPECT_FALSE(fits("Scalar", "bool"));
  EXPECT_FALSE(fits("Scalar", "vec<3,f32>"));
  EXPECT_TRUE(fits("vec<Any,Float>", "vec<5,f64>"));
  EXPECT_FALSE(fits("vec<3,Any>", "vec<4,f32>"));
  EXPECT_TRUE(fits("mat<Any,3,Any>", "mat<2,3,f32>"));
  EXPECT_FALSE(fits("mat<3,Any,Any>", "mat<2,3,f32>"));
  EXPECT_TRUE(fits("array<vec<3,Any>,2>", "array<vec<3,f64>,2>"));
  EXPECT_FALSE(fits("array<Any,1>", "array<f32,2>"));
  EXPECT_TRUE(fits("quat<Float>", "quat<f32>"));
  EXPECT_TRUE(fits("f32", "f32"));
  EXPECT_TRUE(is_generic("array<vec<Any,f32>,1>"));
  EXPECT_FALSE(is_generic("struct<Any>"));
}

TEST(TypeText, NamesOfUsers) {
  EXPECT_EQ(python_name("f64"), "float64");
  EXPECT_EQ(python_name("u8"), "uint8");
  EXPECT_EQ(python_name("bf16"), "bfloat16");
  EXPECT_EQ(python_name("vec<3,f32>"), "vec3f");
  EXPECT_EQ(python_name("vec<6,f64>"), "spatial_vectord");
  EXPECT_EQ(python_name("mat<3,3,f16>"), "mat33h");
  EXPECT_EQ(python_name("xform<f32>"), "transformf");
  EXPECT_EQ(python_name("struct<Body>"), "Body");
  EXPECT_EQ(python_name("array<Any,2>"), "array(dtype=Any, ndim=2)");
}

TEST(Literals, KeepTheirDigits) {
  const Literal big{(Int128{1} << 64) - 1};
  EXPECT_EQ(big.text(), "18446744073709551615");
  EXPECT_EQ(Literal{Int128{-7}}.text(), "-7");
  EXPECT_EQ(Literal{0.5}.text(), "0.5");
  EXPECT_EQ(Literal{2.0}.text(), "2.0");
  EXPECT_EQ(Literal{true}.text(), "True");
  EXPECT_EQ(Val::of_int(5).current_type(), ir::i32_type());
  EXPECT_EQ(Val::of_int(Int128{1} << 40).current_type(), ir::i64_type());
  EXPECT_EQ(Val::of(big).current_type(), ir::scalar_type(ir::Scalar::kU64));
}

}  // namespace
}  // namespace wt::lower_detail
