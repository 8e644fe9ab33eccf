// SPDX-License-Identifier: Apache-2.0
// matrix.cpp: rows of matrices.
#include "csrc/codegen/builtins/tables.h"

namespace wt::builtins {
namespace {

constexpr std::string_view kGroup = "Matrix math";
/// Rows that only the rules of others use.
constexpr std::string_view kInternal = "Internal";

// One row is a few full lines, not one line a field.
// clang-format off
constexpr BuiltinDef kRows[] = {
    {.name = "add", .sig = "(a: mat<M,N,S>, b: mat<M,N,S>) -> mat<M,N,S>",
     .code = "{W}({U}({a}) + {U}({b}))", .vjp = "a += d; b += d", .grad = Grad::kRule,
     .domain = "-3..3", .group = kGroup, .doc = "Sum of two matrices."},
    {.name = "sub", .sig = "(a: mat<M,N,S>, b: mat<M,N,S>) -> mat<M,N,S>",
     .code = "{W}({U}({a}) - {U}({b}))", .vjp = "a += d; b += -d", .grad = Grad::kRule,
     .domain = "-3..3", .group = kGroup, .doc = "Difference of two matrices."},
    {.name = "neg", .sig = "(x: mat<M,N,S>) -> mat<M,N,S>", .code = "{W}(-{U}({x}))",
     .vjp = "x += -d", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Opposite of a matrix."},
    {.name = "pos", .sig = "(x: mat<M,N,S>) -> mat<M,N,S>", .code = "{x}", .vjp = "x += d",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup, .doc = "x itself."},
    {.name = "mul", .sig = "(a: mat<M,N,S>, b: S) -> mat<M,N,S>",
     .code = "{W}({U}({a}) * {U}({b}))", .vjp = "a += d * b; b += ddot(d, a)", .grad = Grad::kRule,
     .domain = "-3..3", .group = kGroup, .doc = "Every component of a times b."},
    {.name = "mul", .sig = "(a: S, b: mat<M,N,S>) -> mat<M,N,S>",
     .code = "{W}({U}({a}) * {U}({b}))", .vjp = "b += d * a; a += ddot(d, b)", .grad = Grad::kRule,
     .domain = "-3..3", .group = kGroup, .doc = "a times every component of b."},
    {.name = "mul", .sig = "(a: mat<M,N,S>, b: vec<N,S>) -> vec<M,S>",
     .code = "[i] {W}(sum(k<N, {U}({a}[i,k]) * {U}({b}[k])))",
     .vjp = "a += outer(d, b); b += mul(d, a)", .grad = Grad::kRule, .domain = "-3..3",
     .group = kGroup, .doc = "Matrix times column vector."},
    {.name = "mul", .sig = "(a: vec<M,S>, b: mat<M,N,S>) -> vec<N,S>",
     .code = "[j] {W}(sum(k<M, {U}({a}[k]) * {U}({b}[k,j])))",
     .vjp = "b += outer(a, d); a += mul(b, d)", .grad = Grad::kRule, .domain = "-3..3",
     .group = kGroup, .doc = "Row vector times matrix."},
    {.name = "mul", .sig = "(a: mat<M,K,S>, b: mat<K,N,S>) -> mat<M,N,S>",
     .code = "[i,j] {W}(sum(k<K, {U}({a}[i,k]) * {U}({b}[k,j])))",
     .vjp = "a += mul(d, transpose(b)); b += mul(transpose(a), d)", .grad = Grad::kRule,
     .domain = "-3..3", .group = kGroup, .doc = "Matrix product."},
    {.name = "div", .sig = "(a: mat<M,N,F>, b: F) -> mat<M,N,F>", .code = "{a} / {b}",
     .vjp = "a += d / b; b += -ddot(d, r) / b", .grad = Grad::kRule, .guard = true,
     .domain = "a: -3..3; b: 0.5..3", .group = kGroup, .doc = "Every component of a divided by b."},
    {.name = "div", .sig = "(a: F, b: mat<M,N,F>) -> mat<M,N,F>", .code = "{a} / {b}",
     .vjp = "a += ddot(d, 1 / b); b += -cw_div(cw_mul(d, r), b)", .grad = Grad::kRule,
     .guard = true, .domain = "a: -3..3; b: 0.5..3", .group = kGroup,
     .doc = "a divided by every component of b."},
    {.name = "eq", .sig = "(a: mat<M,N,S>, b: mat<M,N,S>) -> bool",
     .code = "all(i<M, all(j<N, {a}[i,j] == {b}[i,j]))", .grad = Grad::kZero, .domain = "-2..2",
     .group = kGroup, .doc = "True if all components are equal."},
    {.name = "ne", .sig = "(a: mat<M,N,S>, b: mat<M,N,S>) -> bool",
     .code = "any(i<M, any(j<N, {a}[i,j] != {b}[i,j]))", .grad = Grad::kZero, .domain = "-2..2",
     .group = kGroup, .doc = "True if any component differs."},
    {.name = "cw_mul", .sig = "(a: mat<M,N,S>, b: mat<M,N,S>) -> mat<M,N,S>",
     .code = "{W}({U}({a}) * {U}({b}))", .vjp = "a += cw_mul(d, b); b += cw_mul(d, a)",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup, .doc = "Product by components."},
    {.name = "cw_div", .sig = "(a: mat<M,N,F>, b: mat<M,N,F>) -> mat<M,N,F>", .code = "{a} / {b}",
     .vjp = "a += cw_div(d, b); b += -cw_div(cw_mul(d, r), b)", .grad = Grad::kRule, .guard = true,
     .domain = "a: -3..3; b: 0.5..3", .group = kGroup, .doc = "Quotient by components."},
    {.name = "ddot", .sig = "(a: mat<M,N,S>, b: mat<M,N,S>) -> S",
     .code = "{W}(sum(i<M, sum(j<N, {U}({a}[i,j]) * {U}({b}[i,j]))))",
     .vjp = "a += d * b; b += d * a", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Sum of the products of components."},
    {.name = "abs", .sig = "(x: mat<M,N,F>) -> mat<M,N,F>", .code = "{m}fabs{f}({x})",
     .vjp = "x += cw_mul(d, _sign(x))", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Absolute value of every component."},
    {.name = "transpose", .sig = "(a: mat<M,N,S>) -> mat<N,M,S>", .code = "[i,j] {a}[j,i]",
     .vjp = "a += transpose(d)", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Rows and columns exchanged."},
    {.name = "trace", .sig = "(a: mat<N,N,S>) -> S", .code = "{W}(sum(i<N, {U}({a}[i,i])))",
     .vjp = "a += _scaled_identity(a, d)", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Sum of the diagonal."},
    {.name = "diag", .sig = "(vec: vec<N,S>) -> mat<N,N,S>",
     .code = "[i,j] {i} == {j} ? {vec}[i] : 0", .vjp = "vec += get_diag(d)", .grad = Grad::kRule,
     .domain = "-3..3", .group = kGroup, .doc = "Matrix with vec on the diagonal."},
    {.name = "get_diag", .sig = "(mat: mat<N,N,S>) -> vec<N,S>", .code = "[i] {mat}[i,i]",
     .vjp = "mat += diag(d)", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Diagonal of a matrix."},
    {.name = "_scaled_identity", .sig = "(a: mat<N,N,S>, s: S) -> mat<N,N,S>",
     .code = "[i,j] {i} == {j} ? {s} : 0", .vjp = "s += trace(d)", .grad = Grad::kRule,
     .domain = "-3..3", .group = kInternal, .doc = "s times the identity of the size of a."},
    {.name = "_sign", .sig = "(x: mat<M,N,F>) -> mat<M,N,F>",
     .code = "{x} > 0 ? {F}(1) : {x} < 0 ? {F}(-1) : {F}(0)", .grad = Grad::kZero,
     .domain = "-3..3", .group = kInternal, .doc = "Sign of every component, 0 at 0."},
    {.name = "skew", .sig = "(vec: vec<3,S>) -> mat<3,3,S>",
     .code = "0; -{vec}[2]; {vec}[1]; {vec}[2]; 0; -{vec}[0]; -{vec}[1]; {vec}[0]; 0",
     .vjp = "vec += vec(d[2, 1] - d[1, 2], d[0, 2] - d[2, 0], d[1, 0] - d[0, 1])",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Matrix whose product with x is cross(vec, x)."},
    {.name = "determinant", .sig = "(a: mat<2,2,F>) -> F",
     .code = "{a}[0,0] * {a}[1,1] - {a}[0,1] * {a}[1,0]",
     .vjp = "a += mat(2, d * a[1, 1], -d * a[1, 0], -d * a[0, 1], d * a[0, 0])",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup, .doc = "Determinant."},
    {.name = "determinant", .sig = "(a: mat<3,3,F>) -> F",
     .code = "{a}[0,0] * ({a}[1,1] * {a}[2,2] - {a}[1,2] * {a}[2,1]) - {a}[0,1] * ({a}[1,0] * "
             "{a}[2,2] - {a}[1,2] * {a}[2,0]) + {a}[0,2] * ({a}[1,0] * {a}[2,1] - {a}[1,1] * "
             "{a}[2,0])",
     .vjp = "a += matrix_from_rows(d * cross(a[1], a[2]), d * cross(a[2], a[0]), d * cross(a[0], "
            "a[1]))",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup, .doc = "Determinant."},
    {.name = "determinant", .sig = "(a: mat<4,4,F>) -> F",
     .code = "s0 := {a}[0,0] * {a}[1,1] - {a}[0,1] * {a}[1,0]; s1 := {a}[0,0] * {a}[1,2] - "
             "{a}[0,2] * {a}[1,0]; s2 := {a}[0,0] * {a}[1,3] - {a}[0,3] * {a}[1,0]; s3 := "
             "{a}[0,1] * {a}[1,2] - {a}[0,2] * {a}[1,1]; s4 := {a}[0,1] * {a}[1,3] - {a}[0,3] * "
             "{a}[1,1]; s5 := {a}[0,2] * {a}[1,3] - {a}[0,3] * {a}[1,2]; c0 := {a}[2,0] * "
             "{a}[3,1] - {a}[2,1] * {a}[3,0]; c1 := {a}[2,0] * {a}[3,2] - {a}[2,2] * {a}[3,0]; c2 "
             ":= {a}[2,0] * {a}[3,3] - {a}[2,3] * {a}[3,0]; c3 := {a}[2,1] * {a}[3,2] - {a}[2,2] "
             "* {a}[3,1]; c4 := {a}[2,1] * {a}[3,3] - {a}[2,3] * {a}[3,1]; c5 := {a}[2,2] * "
             "{a}[3,3] - {a}[2,3] * {a}[3,2]; {s0} * {c5} - {s1} * {c4} + {s2} * {c3} + {s3} * "
             "{c2} - {s4} * {c1} + {s5} * {c0}",
     .vjp = "s0 = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]; s1 = a[0, 0] * a[1, 2] - a[0, 2] * a[1, "
            "0]; s2 = a[0, 0] * a[1, 3] - a[0, 3] * a[1, 0]; s3 = a[0, 1] * a[1, 2] - a[0, 2] * "
            "a[1, 1]; s4 = a[0, 1] * a[1, 3] - a[0, 3] * a[1, 1]; s5 = a[0, 2] * a[1, 3] - a[0, "
            "3] * a[1, 2]; c0 = a[2, 0] * a[3, 1] - a[2, 1] * a[3, 0]; c1 = a[2, 0] * a[3, 2] - "
            "a[2, 2] * a[3, 0]; c2 = a[2, 0] * a[3, 3] - a[2, 3] * a[3, 0]; c3 = a[2, 1] * a[3, "
            "2] - a[2, 2] * a[3, 1]; c4 = a[2, 1] * a[3, 3] - a[2, 3] * a[3, 1]; c5 = a[2, 2] * "
            "a[3, 3] - a[2, 3] * a[3, 2]; a += d * mat(4, c5 * a[1, 1] + c3 * a[1, 3] - c4 * a[1, "
            "2], c2 * a[1, 2] - c5 * a[1, 0] - c1 * a[1, 3], c4 * a[1, 0] + c0 * a[1, 3] - c2 * "
            "a[1, 1], c1 * a[1, 1] - c3 * a[1, 0] - c0 * a[1, 2], c4 * a[0, 2] - c5 * a[0, 1] - "
            "c3 * a[0, 3], c5 * a[0, 0] + c1 * a[0, 3] - c2 * a[0, 2], c2 * a[0, 1] - c4 * a[0, "
            "0] - c0 * a[0, 3], c3 * a[0, 0] + c0 * a[0, 2] - c1 * a[0, 1], s5 * a[3, 1] + s3 * "
            "a[3, 3] - s4 * a[3, 2], s2 * a[3, 2] - s5 * a[3, 0] - s1 * a[3, 3], s4 * a[3, 0] + "
            "s0 * a[3, 3] - s2 * a[3, 1], s1 * a[3, 1] - s3 * a[3, 0] - s0 * a[3, 2], s4 * a[2, "
            "2] - s5 * a[2, 1] - s3 * a[2, 3], s5 * a[2, 0] + s1 * a[2, 3] - s2 * a[2, 2], s2 * "
            "a[2, 1] - s4 * a[2, 0] - s0 * a[2, 3], s3 * a[2, 0] + s0 * a[2, 2] - s1 * a[2, 1])",
     .grad = Grad::kRule, .domain = "-2..2", .group = kGroup, .doc = "Determinant."},
    {.name = "inverse", .sig = "(a: mat<2,2,F>) -> mat<2,2,F>",
     .code = "e := {a}[0,0] * {a}[1,1] - {a}[0,1] * {a}[1,0]; s := {e} != 0 ? 1 / {e} : 0; "
             "{a}[1,1] * {s}; -{a}[0,1] * {s}; -{a}[1,0] * {s}; {a}[0,0] * {s}",
     .vjp = "a += -mul(mul(transpose(r), d), transpose(r))", .grad = Grad::kRule,
     .domain = "0.5..3", .group = kGroup,
     .doc = "Inverse matrix; the zero matrix when the determinant is 0."},
    {.name = "inverse", .sig = "(a: mat<3,3,F>) -> mat<3,3,F>",
     .code = "e := {a}[0,0] * ({a}[1,1] * {a}[2,2] - {a}[1,2] * {a}[2,1]) + {a}[0,1] * ({a}[1,2] "
             "* {a}[2,0] - {a}[1,0] * {a}[2,2]) + {a}[0,2] * ({a}[1,0] * {a}[2,1] - {a}[1,1] * "
             "{a}[2,0]); s := {e} != 0 ? 1 / {e} : 0; ({a}[1,1] * {a}[2,2] - {a}[1,2] * {a}[2,1]) "
             "* {s}; ({a}[2,1] * {a}[0,2] - {a}[2,2] * {a}[0,1]) * {s}; ({a}[0,1] * {a}[1,2] - "
             "{a}[0,2] * {a}[1,1]) * {s}; ({a}[1,2] * {a}[2,0] - {a}[1,0] * {a}[2,2]) * {s}; "
             "({a}[2,2] * {a}[0,0] - {a}[2,0] * {a}[0,2]) * {s}; ({a}[0,2] * {a}[1,0] - {a}[0,0] "
             "* {a}[1,2]) * {s}; ({a}[1,0] * {a}[2,1] - {a}[1,1] * {a}[2,0]) * {s}; ({a}[2,0] * "
             "{a}[0,1] - {a}[2,1] * {a}[0,0]) * {s}; ({a}[0,0] * {a}[1,1] - {a}[0,1] * {a}[1,0]) "
             "* {s}",
     .vjp = "a += -mul(mul(transpose(r), d), transpose(r))", .grad = Grad::kRule,
     .domain = "0.5..3", .group = kGroup,
     .doc = "Inverse matrix; the zero matrix when the determinant is 0."},
    {.name = "inverse", .sig = "(a: mat<4,4,F>) -> mat<4,4,F>",
     .code = "s0 := {a}[0,0] * {a}[1,1] - {a}[0,1] * {a}[1,0]; s1 := {a}[0,0] * {a}[1,2] - "
             "{a}[0,2] * {a}[1,0]; s2 := {a}[0,0] * {a}[1,3] - {a}[0,3] * {a}[1,0]; s3 := "
             "{a}[0,1] * {a}[1,2] - {a}[0,2] * {a}[1,1]; s4 := {a}[0,1] * {a}[1,3] - {a}[0,3] * "
             "{a}[1,1]; s5 := {a}[0,2] * {a}[1,3] - {a}[0,3] * {a}[1,2]; c0 := {a}[2,0] * "
             "{a}[3,1] - {a}[2,1] * {a}[3,0]; c1 := {a}[2,0] * {a}[3,2] - {a}[2,2] * {a}[3,0]; c2 "
             ":= {a}[2,0] * {a}[3,3] - {a}[2,3] * {a}[3,0]; c3 := {a}[2,1] * {a}[3,2] - {a}[2,2] "
             "* {a}[3,1]; c4 := {a}[2,1] * {a}[3,3] - {a}[2,3] * {a}[3,1]; c5 := {a}[2,2] * "
             "{a}[3,3] - {a}[2,3] * {a}[3,2]; e := {s0} * {c5} - {s1} * {c4} + {s2} * {c3} + {s3} "
             "* {c2} - {s4} * {c1} + {s5} * {c0}; z := {e} != 0 ? 1 / {e} : 0; ({c5} * {a}[1,1] + "
             "{c3} * {a}[1,3] - {c4} * {a}[1,2]) * {z}; ({c4} * {a}[0,2] - {c5} * {a}[0,1] - {c3} "
             "* {a}[0,3]) * {z}; ({s5} * {a}[3,1] + {s3} * {a}[3,3] - {s4} * {a}[3,2]) * {z}; "
             "({s4} * {a}[2,2] - {s5} * {a}[2,1] - {s3} * {a}[2,3]) * {z}; ({c2} * {a}[1,2] - "
             "{c5} * {a}[1,0] - {c1} * {a}[1,3]) * {z}; ({c5} * {a}[0,0] + {c1} * {a}[0,3] - {c2} "
             "* {a}[0,2]) * {z}; ({s2} * {a}[3,2] - {s5} * {a}[3,0] - {s1} * {a}[3,3]) * {z}; "
             "({s5} * {a}[2,0] + {s1} * {a}[2,3] - {s2} * {a}[2,2]) * {z}; ({c4} * {a}[1,0] + "
             "{c0} * {a}[1,3] - {c2} * {a}[1,1]) * {z}; ({c2} * {a}[0,1] - {c4} * {a}[0,0] - {c0} "
             "* {a}[0,3]) * {z}; ({s4} * {a}[3,0] + {s0} * {a}[3,3] - {s2} * {a}[3,1]) * {z}; "
             "({s2} * {a}[2,1] - {s4} * {a}[2,0] - {s0} * {a}[2,3]) * {z}; ({c1} * {a}[1,1] - "
             "{c3} * {a}[1,0] - {c0} * {a}[1,2]) * {z}; ({c3} * {a}[0,0] + {c0} * {a}[0,2] - {c1} "
             "* {a}[0,1]) * {z}; ({s1} * {a}[3,1] - {s3} * {a}[3,0] - {s0} * {a}[3,2]) * {z}; "
             "({s3} * {a}[2,0] + {s0} * {a}[2,2] - {s1} * {a}[2,1]) * {z}",
     .vjp = "a += -mul(mul(transpose(r), d), transpose(r))", .grad = Grad::kRule,
     .domain = "-2..2", .group = kGroup,
     .doc = "Inverse matrix; the zero matrix when the determinant is 0."},
    {.name = "inverse_approx", .sig = "(a: mat<2,2,F>) -> mat<2,2,F>",
     .code = "e := {a}[0,0] * {a}[1,1] - {a}[0,1] * {a}[1,0]; s := {e} != 0 ? 1 / {e} : 0; "
             "{a}[1,1] * {s}; -{a}[0,1] * {s}; -{a}[1,0] * {s}; {a}[0,0] * {s}",
     .vjp = "a += -mul(mul(transpose(r), d), transpose(r))", .grad = Grad::kRule,
     .domain = "0.5..3", .group = kGroup, .doc = "The same as inverse."},
    {.name = "inverse_approx", .sig = "(a: mat<3,3,F>) -> mat<3,3,F>",
     .code = "e := {a}[0,0] * ({a}[1,1] * {a}[2,2] - {a}[1,2] * {a}[2,1]) + {a}[0,1] * ({a}[1,2] "
             "* {a}[2,0] - {a}[1,0] * {a}[2,2]) + {a}[0,2] * ({a}[1,0] * {a}[2,1] - {a}[1,1] * "
             "{a}[2,0]); s := {e} != 0 ? 1 / {e} : 0; ({a}[1,1] * {a}[2,2] - {a}[1,2] * {a}[2,1]) "
             "* {s}; ({a}[2,1] * {a}[0,2] - {a}[2,2] * {a}[0,1]) * {s}; ({a}[0,1] * {a}[1,2] - "
             "{a}[0,2] * {a}[1,1]) * {s}; ({a}[1,2] * {a}[2,0] - {a}[1,0] * {a}[2,2]) * {s}; "
             "({a}[2,2] * {a}[0,0] - {a}[2,0] * {a}[0,2]) * {s}; ({a}[0,2] * {a}[1,0] - {a}[0,0] "
             "* {a}[1,2]) * {s}; ({a}[1,0] * {a}[2,1] - {a}[1,1] * {a}[2,0]) * {s}; ({a}[2,0] * "
             "{a}[0,1] - {a}[2,1] * {a}[0,0]) * {s}; ({a}[0,0] * {a}[1,1] - {a}[0,1] * {a}[1,0]) "
             "* {s}",
     .vjp = "a += -mul(mul(transpose(r), d), transpose(r))", .grad = Grad::kRule,
     .domain = "0.5..3", .group = kGroup, .doc = "The same as inverse."},
    {.name = "inverse_approx", .sig = "(a: mat<4,4,F>) -> mat<4,4,F>",
     .code = "s0 := {a}[0,0] * {a}[1,1] - {a}[0,1] * {a}[1,0]; s1 := {a}[0,0] * {a}[1,2] - "
             "{a}[0,2] * {a}[1,0]; s2 := {a}[0,0] * {a}[1,3] - {a}[0,3] * {a}[1,0]; s3 := "
             "{a}[0,1] * {a}[1,2] - {a}[0,2] * {a}[1,1]; s4 := {a}[0,1] * {a}[1,3] - {a}[0,3] * "
             "{a}[1,1]; s5 := {a}[0,2] * {a}[1,3] - {a}[0,3] * {a}[1,2]; c0 := {a}[2,0] * "
             "{a}[3,1] - {a}[2,1] * {a}[3,0]; c1 := {a}[2,0] * {a}[3,2] - {a}[2,2] * {a}[3,0]; c2 "
             ":= {a}[2,0] * {a}[3,3] - {a}[2,3] * {a}[3,0]; c3 := {a}[2,1] * {a}[3,2] - {a}[2,2] "
             "* {a}[3,1]; c4 := {a}[2,1] * {a}[3,3] - {a}[2,3] * {a}[3,1]; c5 := {a}[2,2] * "
             "{a}[3,3] - {a}[2,3] * {a}[3,2]; e := {s0} * {c5} - {s1} * {c4} + {s2} * {c3} + {s3} "
             "* {c2} - {s4} * {c1} + {s5} * {c0}; z := {e} != 0 ? 1 / {e} : 0; ({c5} * {a}[1,1] + "
             "{c3} * {a}[1,3] - {c4} * {a}[1,2]) * {z}; ({c4} * {a}[0,2] - {c5} * {a}[0,1] - {c3} "
             "* {a}[0,3]) * {z}; ({s5} * {a}[3,1] + {s3} * {a}[3,3] - {s4} * {a}[3,2]) * {z}; "
             "({s4} * {a}[2,2] - {s5} * {a}[2,1] - {s3} * {a}[2,3]) * {z}; ({c2} * {a}[1,2] - "
             "{c5} * {a}[1,0] - {c1} * {a}[1,3]) * {z}; ({c5} * {a}[0,0] + {c1} * {a}[0,3] - {c2} "
             "* {a}[0,2]) * {z}; ({s2} * {a}[3,2] - {s5} * {a}[3,0] - {s1} * {a}[3,3]) * {z}; "
             "({s5} * {a}[2,0] + {s1} * {a}[2,3] - {s2} * {a}[2,2]) * {z}; ({c4} * {a}[1,0] + "
             "{c0} * {a}[1,3] - {c2} * {a}[1,1]) * {z}; ({c2} * {a}[0,1] - {c4} * {a}[0,0] - {c0} "
             "* {a}[0,3]) * {z}; ({s4} * {a}[3,0] + {s0} * {a}[3,3] - {s2} * {a}[3,1]) * {z}; "
             "({s2} * {a}[2,1] - {s4} * {a}[2,0] - {s0} * {a}[2,3]) * {z}; ({c1} * {a}[1,1] - "
             "{c3} * {a}[1,0] - {c0} * {a}[1,2]) * {z}; ({c3} * {a}[0,0] + {c0} * {a}[0,2] - {c1} "
             "* {a}[0,1]) * {z}; ({s1} * {a}[3,1] - {s3} * {a}[3,0] - {s0} * {a}[3,2]) * {z}; "
             "({s3} * {a}[2,0] + {s0} * {a}[2,2] - {s1} * {a}[2,1]) * {z}",
     .vjp = "a += -mul(mul(transpose(r), d), transpose(r))", .grad = Grad::kRule,
     .domain = "-2..2", .group = kGroup, .doc = "The same as inverse."},
    {.name = "matrix_from_cols", .sig = "(v0: vec<M,S>, v1: vec<M,S>) -> mat<M,2,S>",
     .code = "[i,j] {j} == 0 ? {v0}[i] : {v1}[i]",
     .vjp = "t = transpose(d); v0 += t[0]; v1 += t[1]", .grad = Grad::kRule, .domain = "-3..3",
     .group = kGroup, .doc = "Matrix whose columns are the arguments."},
    {.name = "matrix_from_cols", .sig = "(v0: vec<M,S>, v1: vec<M,S>, v2: vec<M,S>) -> mat<M,3,S>",
     .code = "[i,j] {j} == 0 ? {v0}[i] : {j} == 1 ? {v1}[i] : {v2}[i]",
     .vjp = "t = transpose(d); v0 += t[0]; v1 += t[1]; v2 += t[2]", .grad = Grad::kRule,
     .domain = "-3..3", .group = kGroup, .doc = "Matrix whose columns are the arguments."},
    {.name = "matrix_from_cols",
     .sig = "(v0: vec<M,S>, v1: vec<M,S>, v2: vec<M,S>, v3: vec<M,S>) -> mat<M,4,S>",
     .code = "[i,j] {j} == 0 ? {v0}[i] : {j} == 1 ? {v1}[i] : {j} == 2 ? {v2}[i] : {v3}[i]",
     .vjp = "t = transpose(d); v0 += t[0]; v1 += t[1]; v2 += t[2]; v3 += t[3]",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Matrix whose columns are the arguments."},
    {.name = "matrix_from_rows", .sig = "(v0: vec<N,S>, v1: vec<N,S>) -> mat<2,N,S>",
     .code = "[i,j] {i} == 0 ? {v0}[j] : {v1}[j]", .vjp = "v0 += d[0]; v1 += d[1]",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Matrix whose rows are the arguments."},
    {.name = "matrix_from_rows", .sig = "(v0: vec<N,S>, v1: vec<N,S>, v2: vec<N,S>) -> mat<3,N,S>",
     .code = "[i,j] {i} == 0 ? {v0}[j] : {i} == 1 ? {v1}[j] : {v2}[j]",
     .vjp = "v0 += d[0]; v1 += d[1]; v2 += d[2]", .grad = Grad::kRule, .domain = "-3..3",
     .group = kGroup, .doc = "Matrix whose rows are the arguments."},
    {.name = "matrix_from_rows",
     .sig = "(v0: vec<N,S>, v1: vec<N,S>, v2: vec<N,S>, v3: vec<N,S>) -> mat<4,N,S>",
     .code = "[i,j] {i} == 0 ? {v0}[j] : {i} == 1 ? {v1}[j] : {i} == 2 ? {v2}[j] : {v3}[j]",
     .vjp = "v0 += d[0]; v1 += d[1]; v2 += d[2]; v3 += d[3]", .grad = Grad::kRule,
     .domain = "-3..3", .group = kGroup, .doc = "Matrix whose rows are the arguments."},
    {.name = "lerp", .sig = "(a: mat<M,N,F>, b: mat<M,N,F>, t: F) -> mat<M,N,F>",
     .code = "{a} * (1 - {t}) + {b} * {t}",
     .vjp = "a += d * (1 - t); b += d * t; t += ddot(d, b - a)", .grad = Grad::kRule,
     .domain = "-2..2", .group = kGroup, .doc = "a * (1 - t) + b * t."},
    {.name = "isnan", .sig = "(a: mat<M,N,F>) -> bool",
     .code = "any(i<M, any(j<N, {a}[i,j] != {a}[i,j]))", .grad = Grad::kZero, .domain = "-3..3",
     .group = kGroup, .doc = "True if any component is NaN."},
    {.name = "isinf", .sig = "(a: mat<M,N,F>) -> bool",
     .code = "any(i<M, any(j<N, ({a}[i,j] == {a}[i,j] && {a}[i,j] - {a}[i,j] != 0)))",
     .grad = Grad::kZero, .domain = "-3..3", .group = kGroup,
     .doc = "True if any component is infinite."},
    {.name = "isfinite", .sig = "(a: mat<M,N,F>) -> bool",
     .code = "all(i<M, all(j<N, {a}[i,j] - {a}[i,j] == 0))", .grad = Grad::kZero,
     .domain = "-3..3", .group = kGroup, .doc = "True if all components are finite."},
};
// clang-format on
static_assert(rows_ok(kRows), "a row lacks name, sig, code, grad decision, group or doc");

}  // namespace

std::span<const BuiltinDef> matrix_rows() { return kRows; }

}  // namespace wt::builtins
