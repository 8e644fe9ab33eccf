// SPDX-License-Identifier: Apache-2.0
// complex.cpp: rows of complex numbers, which are vectors of a real and an imaginary part.
#include "csrc/codegen/builtins/tables.h"

namespace wt::builtins {
namespace {

constexpr std::string_view kGroup = "Complex numbers";

// The gradient of a function of z is its cotangent times the conjugate of the derivative by z.
// clang-format off
constexpr BuiltinDef kRows[] = {
    {.name = "complex_mul", .sig = "(a: vec<2,F>, b: vec<2,F>) -> vec<2,F>",
     .code = "{a}[0] * {b}[0] - {a}[1] * {b}[1]; {a}[0] * {b}[1] + {a}[1] * {b}[0]",
     .vjp = "a += complex_mul(d, complex_conj(b)); b += complex_mul(d, complex_conj(a))",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Product of two complex numbers."},
    {.name = "complex_div", .sig = "(a: vec<2,F>, b: vec<2,F>) -> vec<2,F>",
     .code = "n := {b}[0] * {b}[0] + {b}[1] * {b}[1]; ({a}[0] * {b}[0] + {a}[1] * {b}[1]) / {n}; "
             "({a}[1] * {b}[0] - {a}[0] * {b}[1]) / {n}",
     .vjp = "o = length_sq(b) > 0; g = complex_div(d, complex_conj(where(o, b, vec(1, 0)))); a += "
            "where(o, g, 0); b += where(o, -complex_mul(g, complex_conj(where(o, r, a))), 0)",
     .grad = Grad::kRule, .domain = "a: -3..3; b: 0.5..3", .group = kGroup,
     .doc = "Quotient of two complex numbers; the derivative where b is 0 is 0."},
    {.name = "complex_conj", .sig = "(z: vec<2,F>) -> vec<2,F>", .code = "{z}[0]; -{z}[1]",
     .vjp = "z += complex_conj(d)", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "z with the opposite imaginary part."},
    {.name = "complex_abs", .sig = "(z: vec<2,F>) -> F", .code = "{m}hypot{f}({z}[0], {z}[1])",
     .vjp = "z += where(r > 0, d / r * z, 0)", .grad = Grad::kRule, .domain = "-3..3",
     .group = kGroup, .doc = "Absolute value of a complex number; the derivative at 0 is 0."},
    {.name = "complex_arg", .sig = "(z: vec<2,F>) -> F", .code = "{m}atan2{f}({z}[1], {z}[0])",
     .vjp = "n = length_sq(z); g = where(n > 0, d / n, 0); z += vec(-g * z[1], g * z[0])",
     .grad = Grad::kRule, .domain = "0.2..3", .group = kGroup,
     .doc = "Angle of a complex number in radians; the derivative at 0 is 0."},
    {.name = "complex_polar", .sig = "(r: F, angle: F) -> vec<2,F>",
     .code = "{r} * {m}cos{f}({angle}); {r} * {m}sin{f}({angle})",
     .vjp = "c = cos(angle); s = sin(angle); r += d[0] * c + d[1] * s; angle += r * (d[1] * c - "
            "d[0] * s)",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Complex number of an absolute value and an angle."},
    {.name = "complex_exp", .sig = "(z: vec<2,F>) -> vec<2,F>",
     .code = "e := {m}exp{f}({z}[0]); {e} * {m}cos{f}({z}[1]); {e} * {m}sin{f}({z}[1])",
     .vjp = "z += complex_mul(d, complex_conj(r))", .grad = Grad::kRule, .domain = "-2..2",
     .group = kGroup, .doc = "e to the power z."},
    {.name = "complex_log", .sig = "(z: vec<2,F>) -> vec<2,F>",
     .code = "{m}log{f}({m}hypot{f}({z}[0], {z}[1])); {m}atan2{f}({z}[1], {z}[0])",
     .vjp = "o = length_sq(z) > 0; z += where(o, complex_div(d, complex_conj(where(o, z, vec(1, "
            "0)))), 0)",
     .grad = Grad::kRule, .domain = "0.2..3", .group = kGroup,
     .doc = "Natural logarithm of z, of an imaginary part in [-pi, pi]; the derivative at 0 is 0."},
    {.name = "complex_sqrt", .sig = "(z: vec<2,F>) -> vec<2,F>",
     .code = "u := {m}sqrt{f}({F}(0.5) * ({m}hypot{f}({z}[0], {z}[1]) + {m}fabs{f}({z}[0]))); v := "
             "{u} > 0 ? {F}(0.5) * {m}fabs{f}({z}[1]) / {u} : {F}(0); {z}[0] < 0 ? {v} : {u}; "
             "{m}copysign{f}({z}[0] < 0 ? {u} : {v}, {z}[1])",
     .vjp = "o = length_sq(r) > 0; z += where(o, 0.5 * complex_div(d, complex_conj(where(o, r, "
            "vec(1, 0)))), 0)",
     .grad = Grad::kRule, .domain = "0.2..3", .group = kGroup,
     .doc = "Square root of z whose real part is not negative; the derivative at 0 is 0."},
    {.name = "complex_pow", .sig = "(z: vec<2,F>, p: vec<2,F>) -> vec<2,F>",
     .expand = "o = length_sq(z) > 0; w = complex_exp(complex_mul(p, complex_log(where(o, z, vec(1, "
               "0))))); where(o, w, where(length_sq(p) > 0, z * 0, vec(1, 0)))",
     .grad = Grad::kRule, .domain = "z: 0.2..3; p: -2..2", .group = kGroup,
     .doc = "z to the power p."},
};
// clang-format on
static_assert(rows_ok(kRows), "a row lacks name, sig, code, grad decision, group or doc");

}  // namespace

std::span<const BuiltinDef> complex_rows() { return kRows; }

}  // namespace wt::builtins
