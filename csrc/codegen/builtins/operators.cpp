// SPDX-License-Identifier: Apache-2.0
// operators.cpp: rows of the arithmetic, comparison, logical and bit operators on scalars.
#include "csrc/codegen/builtins/tables.h"

namespace wt::builtins {
namespace {

constexpr std::string_view kGroup = "Operators";

// One row is a few full lines, not one line a field.
// clang-format off
constexpr BuiltinDef kRows[] = {
    {.name = "add", .sig = "(a: F, b: F) -> F", .code = "{a} + {b}", .vjp = "a += d; b += d",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup, .doc = "Sum of a and b."},
    {.name = "add", .sig = "(a: I, b: I) -> I", .code = "{W}({U}({a}) + {U}({b}))",
     .grad = Grad::kZero, .domain = "-9..9", .group = kGroup,
     .doc = "Sum of two integers; wraps around."},
    {.name = "sub", .sig = "(a: F, b: F) -> F", .code = "{a} - {b}", .vjp = "a += d; b += -d",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup, .doc = "Difference of a and b."},
    {.name = "sub", .sig = "(a: I, b: I) -> I", .code = "{W}({U}({a}) - {U}({b}))",
     .grad = Grad::kZero, .domain = "-9..9", .group = kGroup,
     .doc = "Difference of two integers; wraps around."},
    {.name = "mul", .sig = "(a: F, b: F) -> F", .code = "{a} * {b}",
     .vjp = "a += d * b; b += d * a", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Product of a and b."},
    {.name = "mul", .sig = "(a: I, b: I) -> I", .code = "{W}({U}({a}) * {U}({b}))",
     .grad = Grad::kZero, .domain = "-9..9", .group = kGroup,
     .doc = "Product of two integers; wraps around."},
    {.name = "div", .sig = "(a: F, b: F) -> F", .code = "{a} / {b}",
     .vjp = "a += d / b; b += -(d / b) * r", .grad = Grad::kRule, .guard = true,
     .domain = "a: -3..3; b: 0.5..3", .group = kGroup, .doc = "Quotient of a and b."},
    {.name = "div", .sig = "(a: I, b: I) -> I", .code = "wt_div<{R}>({a}, {b})", .device = "integer",
     .grad = Grad::kZero, .domain = "a: -99..99; b: 1..9", .group = kGroup,
     .doc = "Quotient of two integers, truncated toward zero; 0 when b is 0."},
    {.name = "floordiv", .sig = "(a: F, b: F) -> F", .code = "{m}floor{f}({a} / {b})",
     .grad = Grad::kZero, .domain = "a: -9..9; b: 0.5..3", .group = kGroup,
     .doc = "Largest whole number not above the quotient of a and b."},
    {.name = "floordiv", .sig = "(a: I, b: I) -> I", .code = "wt_floordiv<{R}>({a}, {b})",
     .device = "integer", .grad = Grad::kZero, .domain = "a: -99..99; b: 1..9", .group = kGroup,
     .doc = "Quotient of two integers, rounded down; 0 when b is 0."},
    {.name = "mod", .sig = "(a: F, b: F) -> F", .code = "{m}fmod{f}({a}, {b})",
     .vjp = "a += d; b += -d * trunc(a / b)", .grad = Grad::kRule,
     .domain = "a: 3.1..3.9; b: 0.9..1", .group = kGroup,
     .doc = "Remainder of a / b with the sign of a, as in C."},
    {.name = "mod", .sig = "(a: I, b: I) -> I", .code = "wt_mod<{R}>({a}, {b})", .device = "integer",
     .grad = Grad::kZero, .domain = "a: -99..99; b: 1..9", .group = kGroup,
     .doc = "Remainder of a / b with the sign of a, as in C; a when b is 0."},
    {.name = "pow", .sig = "(x: F, y: F) -> F", .code = "{m}pow{f}({x}, {y})",
     .vjp = "x += d * y * pow(where(y == 0, 1, x), y - 1);"
            "y += d * r * log(where(logical_and(x == 0, y >= 0), 1, x))",
     .grad = Grad::kRule, .guard = true, .domain = "0.2..3", .group = kGroup,
     .doc = "x to the power y."},
    {.name = "pow", .sig = "(x: I, y: I) -> I", .code = "wt_ipow<{R}>({x}, {y})", .device = "integer",
     .grad = Grad::kZero, .domain = "x: -4..4; y: 0..5", .group = kGroup,
     .doc = "Integer power; wraps around. A negative y gives the truncated quotient."},
    {.name = "neg", .sig = "(x: F) -> F", .code = "-{x}", .vjp = "x += -d", .grad = Grad::kRule,
     .domain = "-3..3", .group = kGroup, .doc = "x with the opposite sign."},
    {.name = "neg", .sig = "(x: I) -> I", .code = "{W}({U}(0) - {U}({x}))", .grad = Grad::kZero,
     .domain = "-9..9", .group = kGroup, .doc = "Integer with the opposite sign; wraps around."},
    {.name = "pos", .sig = "(x: S) -> S", .code = "{x}", .vjp = "x += d", .grad = Grad::kRule,
     .domain = "-3..3", .group = kGroup, .doc = "x itself."},
    {.name = "fma", .sig = "(a: F, b: F, c: F) -> F", .code = "{m}fma{f}({a}, {b}, {c})",
     .vjp = "a += d * b; b += d * a; c += d", .grad = Grad::kRule, .domain = "-3..3",
     .group = kGroup, .doc = "a * b + c, rounded once."},

    {.name = "lt", .sig = "(a: S, b: S) -> bool", .code = "{a} < {b}", .grad = Grad::kZero,
     .domain = "-2..2", .group = kGroup, .doc = "True if a is less than b."},
    {.name = "le", .sig = "(a: S, b: S) -> bool", .code = "{a} <= {b}", .grad = Grad::kZero,
     .domain = "-2..2", .group = kGroup, .doc = "True if a is less than b or equal to it."},
    {.name = "gt", .sig = "(a: S, b: S) -> bool", .code = "{a} > {b}", .grad = Grad::kZero,
     .domain = "-2..2", .group = kGroup, .doc = "True if a is greater than b."},
    {.name = "ge", .sig = "(a: S, b: S) -> bool", .code = "{a} >= {b}", .grad = Grad::kZero,
     .domain = "-2..2", .group = kGroup, .doc = "True if a is greater than b or equal to it."},
    {.name = "eq", .sig = "(a: S, b: S) -> bool", .code = "{a} == {b}", .grad = Grad::kZero,
     .domain = "-2..2", .group = kGroup, .doc = "True if a equals b."},
    {.name = "eq", .sig = "(a: B, b: B) -> bool", .code = "{a} == {b}", .grad = Grad::kZero,
     .group = kGroup, .doc = "True if both are true or both false."},
    {.name = "ne", .sig = "(a: S, b: S) -> bool", .code = "{a} != {b}", .grad = Grad::kZero,
     .domain = "-2..2", .group = kGroup, .doc = "True if a differs from b."},
    {.name = "ne", .sig = "(a: B, b: B) -> bool", .code = "{a} != {b}", .grad = Grad::kZero,
     .group = kGroup, .doc = "True if exactly one of a and b is true."},

    {.name = "logical_and", .sig = "(a: B, b: B) -> bool", .code = "{a} && {b}",
     .grad = Grad::kZero, .group = kGroup, .doc = "True if a and b are true."},
    {.name = "logical_or", .sig = "(a: B, b: B) -> bool", .code = "{a} || {b}",
     .grad = Grad::kZero, .group = kGroup, .doc = "True if a or b is true."},
    {.name = "logical_not", .sig = "(a: B) -> bool", .code = "!{a}", .grad = Grad::kZero,
     .group = kGroup, .doc = "True if a is false."},

    {.name = "bit_and", .sig = "(a: I, b: I) -> I", .code = "{R}({a} & {b})",
     .grad = Grad::kZero, .domain = "0..99", .group = kGroup, .doc = "Bits set in a and in b."},
    {.name = "bit_and", .sig = "(a: B, b: B) -> bool", .code = "{a} && {b}", .grad = Grad::kZero,
     .group = kGroup, .doc = "True if a and b are true."},
    {.name = "bit_or", .sig = "(a: I, b: I) -> I", .code = "{R}({a} | {b})",
     .grad = Grad::kZero, .domain = "0..99", .group = kGroup, .doc = "Bits set in a or in b."},
    {.name = "bit_or", .sig = "(a: B, b: B) -> bool", .code = "{a} || {b}", .grad = Grad::kZero,
     .group = kGroup, .doc = "True if a or b is true."},
    {.name = "bit_xor", .sig = "(a: I, b: I) -> I", .code = "{R}({a} ^ {b})",
     .grad = Grad::kZero, .domain = "0..99", .group = kGroup,
     .doc = "Bits set in exactly one of a and b."},
    {.name = "bit_xor", .sig = "(a: B, b: B) -> bool", .code = "{a} != {b}", .grad = Grad::kZero,
     .group = kGroup, .doc = "True if exactly one of a and b is true."},
    {.name = "invert", .sig = "(a: I) -> I", .code = "{R}(~{a})", .grad = Grad::kZero,
     .domain = "0..99", .group = kGroup, .doc = "All bits of x inverted."},
    {.name = "lshift", .sig = "(a: I, b: I) -> I", .code = "{W}({U}({a}) << ({b} & {bits}))",
     .grad = Grad::kZero, .domain = "a: 0..99; b: 0..5", .group = kGroup,
     .doc = "a shifted left by b bits, b modulo the width."},
    {.name = "rshift", .sig = "(a: I, b: I) -> I", .code = "{R}({a} >> ({b} & {bits}))",
     .grad = Grad::kZero, .domain = "a: 0..999; b: 0..5", .group = kGroup,
     .doc = "a shifted right by b bits, b modulo the width; keeps the sign."},
};
// clang-format on
static_assert(rows_ok(kRows), "a row lacks name, sig, code, grad decision, group or doc");

}  // namespace

std::span<const BuiltinDef> operator_rows() { return kRows; }

}  // namespace wt::builtins
