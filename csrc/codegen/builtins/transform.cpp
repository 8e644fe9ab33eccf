// SPDX-License-Identifier: Apache-2.0
// transform.cpp: rows of transforms (translation, quaternion) and spatial vectors.
#include "csrc/codegen/builtins/tables.h"

namespace wt::builtins {
namespace {

constexpr std::string_view kGroup = "Transforms and spatial vectors";

// One row is a few full lines, not one line a field.
// clang-format off
constexpr BuiltinDef kRows[] = {
    {.name = "add", .sig = "(a: xform<F>, b: xform<F>) -> xform<F>", .code = "{a} + {b}",
     .vjp = "a += d; b += d", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Sum by components."},
    {.name = "sub", .sig = "(a: xform<F>, b: xform<F>) -> xform<F>", .code = "{a} - {b}",
     .vjp = "a += d; b += -d", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Difference by components."},
    {.name = "neg", .sig = "(x: xform<F>) -> xform<F>", .code = "-{x}", .vjp = "x += -d",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup, .doc = "Opposite by components."},
    {.name = "pos", .sig = "(x: xform<F>) -> xform<F>", .code = "{x}", .vjp = "x += d",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup, .doc = "x itself."},
    {.name = "dot", .sig = "(a: xform<F>, b: xform<F>) -> F", .code = "sum(i<7, {a}[i] * {b}[i])",
     .vjp = "a += d * b; b += d * a", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Sum of the products of components."},
    {.name = "mul", .sig = "(a: xform<F>, b: F) -> xform<F>", .code = "{a} * {b}",
     .vjp = "a += d * b; b += dot(d, a)", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Every component of a times b."},
    {.name = "mul", .sig = "(a: F, b: xform<F>) -> xform<F>", .code = "{a} * {b}",
     .vjp = "b += d * a; a += dot(d, b)", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "a times every component of b."},
    {.name = "div", .sig = "(a: xform<F>, b: F) -> xform<F>", .code = "{a} / {b}",
     .vjp = "a += d / b; b += -dot(d, r) / b", .grad = Grad::kRule, .guard = true,
     .domain = "a: -3..3; b: 0.5..3", .group = kGroup, .doc = "Every component of a divided by b."},
    {.name = "eq", .sig = "(a: xform<F>, b: xform<F>) -> bool",
     .code = "all(i<7, {a}[i] == {b}[i])", .grad = Grad::kZero, .domain = "-2..2", .group = kGroup,
     .doc = "True if all components are equal."},
    {.name = "ne", .sig = "(a: xform<F>, b: xform<F>) -> bool",
     .code = "any(i<7, {a}[i] != {b}[i])", .grad = Grad::kZero, .domain = "-2..2", .group = kGroup,
     .doc = "True if any component differs."},
    {.name = "lerp", .sig = "(a: xform<F>, b: xform<F>, t: F) -> xform<F>",
     .code = "{a} * (1 - {t}) + {b} * {t}",
     .vjp = "a += d * (1 - t); b += d * t; t += dot(d, b - a)", .grad = Grad::kRule,
     .domain = "-2..2", .group = kGroup, .doc = "a * (1 - t) + b * t by components."},
    {.name = "mul", .sig = "(a: xform<F>, b: xform<F>) -> xform<F>",
     .code = "t := 2 * {a}[6] * {a}[6] - 1; u := 2 * ({a}[3] * {b}[0] + {a}[4] * {b}[1] + {a}[5] "
             "* {b}[2]); v := 2 * {a}[6]; {a}[0] + {b}[0] * {t} + ({a}[4] * {b}[2] - {a}[5] * "
             "{b}[1]) * {v} + {a}[3] * {u}; {a}[1] + {b}[1] * {t} + ({a}[5] * {b}[0] - {a}[3] * "
             "{b}[2]) * {v} + {a}[4] * {u}; {a}[2] + {b}[2] * {t} + ({a}[3] * {b}[1] - {a}[4] * "
             "{b}[0]) * {v} + {a}[5] * {u}; {a}[6] * {b}[3] + {a}[3] * {b}[6] + {a}[4] * {b}[5] - "
             "{a}[5] * {b}[4]; {a}[6] * {b}[4] + {a}[4] * {b}[6] + {a}[5] * {b}[3] - {a}[3] * "
             "{b}[5]; {a}[6] * {b}[5] + {a}[5] * {b}[6] + {a}[3] * {b}[4] - {a}[4] * {b}[3]; "
             "{a}[6] * {b}[6] - {a}[3] * {b}[3] - {a}[4] * {b}[4] - {a}[5] * {b}[5]",
     .vjp = "qa = quat(a[3], a[4], a[5], a[6]); qb = quat(b[3], b[4], b[5], b[6]); pb = vec(b[0], "
            "b[1], b[2]); dp = vec(d[0], d[1], d[2]); dq = quat(d[3], d[4], d[5], d[6]); u = "
            "vec(a[3], a[4], a[5]); w = a[6]; g = 2 * (w * cross(pb, dp) + dp * dot(u, pb) + pb * "
            "dot(u, dp)); h = mul(dq, quat_inverse(qb)); a += xform(d[0], d[1], d[2], g[0] + "
            "h[0], g[1] + h[1], g[2] + h[2], h[3] + 4 * w * dot(dp, pb) + 2 * dot(dp, cross(u, "
            "pb))); x = quat_rotate_inv(qa, dp); y = mul(quat_inverse(qa), dq); b += xform(x[0], "
            "x[1], x[2], y[0], y[1], y[2], y[3])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Composition: b first, then a."},
    {.name = "transform_multiply", .sig = "(a: xform<F>, b: xform<F>) -> xform<F>",
     .code = "t := 2 * {a}[6] * {a}[6] - 1; u := 2 * ({a}[3] * {b}[0] + {a}[4] * {b}[1] + {a}[5] "
             "* {b}[2]); v := 2 * {a}[6]; {a}[0] + {b}[0] * {t} + ({a}[4] * {b}[2] - {a}[5] * "
             "{b}[1]) * {v} + {a}[3] * {u}; {a}[1] + {b}[1] * {t} + ({a}[5] * {b}[0] - {a}[3] * "
             "{b}[2]) * {v} + {a}[4] * {u}; {a}[2] + {b}[2] * {t} + ({a}[3] * {b}[1] - {a}[4] * "
             "{b}[0]) * {v} + {a}[5] * {u}; {a}[6] * {b}[3] + {a}[3] * {b}[6] + {a}[4] * {b}[5] - "
             "{a}[5] * {b}[4]; {a}[6] * {b}[4] + {a}[4] * {b}[6] + {a}[5] * {b}[3] - {a}[3] * "
             "{b}[5]; {a}[6] * {b}[5] + {a}[5] * {b}[6] + {a}[3] * {b}[4] - {a}[4] * {b}[3]; "
             "{a}[6] * {b}[6] - {a}[3] * {b}[3] - {a}[4] * {b}[4] - {a}[5] * {b}[5]",
     .vjp = "qa = quat(a[3], a[4], a[5], a[6]); qb = quat(b[3], b[4], b[5], b[6]); pb = vec(b[0], "
            "b[1], b[2]); dp = vec(d[0], d[1], d[2]); dq = quat(d[3], d[4], d[5], d[6]); u = "
            "vec(a[3], a[4], a[5]); w = a[6]; g = 2 * (w * cross(pb, dp) + dp * dot(u, pb) + pb * "
            "dot(u, dp)); h = mul(dq, quat_inverse(qb)); a += xform(d[0], d[1], d[2], g[0] + "
            "h[0], g[1] + h[1], g[2] + h[2], h[3] + 4 * w * dot(dp, pb) + 2 * dot(dp, cross(u, "
            "pb))); x = quat_rotate_inv(qa, dp); y = mul(quat_inverse(qa), dq); b += xform(x[0], "
            "x[1], x[2], y[0], y[1], y[2], y[3])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Composition: b first, then a."},
    {.name = "transformation", .sig = "(p: vec<3,F>, q: quat<F>) -> xform<F>",
     .code = "{p}[0]; {p}[1]; {p}[2]; {q}[0]; {q}[1]; {q}[2]; {q}[3]",
     .vjp = "p += vec(d[0], d[1], d[2]); q += quat(d[3], d[4], d[5], d[6])", .grad = Grad::kRule,
     .domain = "-1..1", .group = kGroup, .doc = "Transform of a translation and a rotation."},
    {.name = "transformation", .sig = "(p: vec<3,F>) -> xform<F>",
     .code = "{p}[0]; {p}[1]; {p}[2]; 0; 0; 0; 1", .vjp = "p += vec(d[0], d[1], d[2])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Transform of a translation alone."},
    {.name = "transform_identity", .sig = "() -> xform<f32>", .code = "0; 0; 0; 0; 0; 0; 1",
     .grad = Grad::kZero, .group = kGroup, .doc = "The transform that does nothing."},
    {.name = "transform_get_translation", .sig = "(xform: xform<F>) -> vec<3,F>",
     .code = "{xform}[0]; {xform}[1]; {xform}[2]",
     .vjp = "xform += xform(d[0], d[1], d[2], 0, 0, 0, 0)", .grad = Grad::kRule, .domain = "-1..1",
     .group = kGroup, .doc = "Translation of a transform."},
    {.name = "transform_get_rotation", .sig = "(xform: xform<F>) -> quat<F>",
     .code = "{xform}[3]; {xform}[4]; {xform}[5]; {xform}[6]",
     .vjp = "xform += xform(0, 0, 0, d[0], d[1], d[2], d[3])", .grad = Grad::kRule,
     .domain = "-1..1", .group = kGroup, .doc = "Rotation of a transform."},
    {.name = "transform_set_translation", .sig = "(xform: inout xform<F>, p: vec<3,F>) -> ()",
     .code = "{p}[0]; {p}[1]; {p}[2]; {xform}[3]; {xform}[4]; {xform}[5]; {xform}[6]",
     .vjp = "xform += xform(0, 0, 0, d[3], d[4], d[5], d[6]); p += vec(d[0], d[1], d[2])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Sets the translation of the variable xform to p."},
    {.name = "transform_set_rotation", .sig = "(xform: inout xform<F>, q: quat<F>) -> ()",
     .code = "{xform}[0]; {xform}[1]; {xform}[2]; {q}[0]; {q}[1]; {q}[2]; {q}[3]",
     .vjp = "xform += xform(d[0], d[1], d[2], 0, 0, 0, 0); q += quat(d[3], d[4], d[5], d[6])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Sets the rotation of the variable xform to q."},
    {.name = "transform_point", .sig = "(xform: xform<F>, point: vec<3,F>) -> vec<3,F>",
     .code = "t := 2 * {xform}[6] * {xform}[6] - 1; u := 2 * ({xform}[3] * {point}[0] + "
             "{xform}[4] * {point}[1] + {xform}[5] * {point}[2]); v := 2 * {xform}[6]; {xform}[0] "
             "+ {point}[0] * {t} + ({xform}[4] * {point}[2] - {xform}[5] * {point}[1]) * {v} + "
             "{xform}[3] * {u}; {xform}[1] + {point}[1] * {t} + ({xform}[5] * {point}[0] - "
             "{xform}[3] * {point}[2]) * {v} + {xform}[4] * {u}; {xform}[2] + {point}[2] * {t} + "
             "({xform}[3] * {point}[1] - {xform}[4] * {point}[0]) * {v} + {xform}[5] * {u}",
     .vjp = "u = vec(xform[3], xform[4], xform[5]); w = xform[6]; g = 2 * (w * cross(point, d) + "
            "d * dot(u, point) + point * dot(u, d)); h = 4 * w * dot(d, point) + 2 * dot(d, "
            "cross(u, point)); xform += xform(d[0], d[1], d[2], g[0], g[1], g[2], h); point += "
            "quat_rotate_inv(quat(xform[3], xform[4], xform[5], xform[6]), d)",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "point rotated, then translated."},
    {.name = "transform_vector", .sig = "(xform: xform<F>, vec: vec<3,F>) -> vec<3,F>",
     .code = "t := 2 * {xform}[6] * {xform}[6] - 1; u := 2 * ({xform}[3] * {vec}[0] + {xform}[4] "
             "* {vec}[1] + {xform}[5] * {vec}[2]); v := 2 * {xform}[6]; {vec}[0] * {t} + "
             "({xform}[4] * {vec}[2] - {xform}[5] * {vec}[1]) * {v} + {xform}[3] * {u}; {vec}[1] "
             "* {t} + ({xform}[5] * {vec}[0] - {xform}[3] * {vec}[2]) * {v} + {xform}[4] * {u}; "
             "{vec}[2] * {t} + ({xform}[3] * {vec}[1] - {xform}[4] * {vec}[0]) * {v} + {xform}[5] "
             "* {u}",
     .vjp = "u = vec(xform[3], xform[4], xform[5]); w = xform[6]; g = 2 * (w * cross(vec, d) + d "
            "* dot(u, vec) + vec * dot(u, d)); h = 4 * w * dot(d, vec) + 2 * dot(d, cross(u, "
            "vec)); xform += xform(0, 0, 0, g[0], g[1], g[2], h); vec += "
            "quat_rotate_inv(quat(xform[3], xform[4], xform[5], xform[6]), d)",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "vec rotated and not translated."},
    {.name = "transform_from_matrix", .sig = "(mat: mat<4,4,F>) -> xform<F>",
     .code = "c := i32: {mat}[0,0] + {mat}[1,1] + {mat}[2,2] >= 0 ? 3 : {mat}[0,0] >= {mat}[1,1] "
             "&& {mat}[0,0] >= {mat}[2,2] ? 0 : {mat}[1,1] >= {mat}[2,2] ? 1 : 2; x := {c} == 3 ? "
             "{mat}[2,1] - {mat}[1,2] : {c} == 0 ? 1 + {mat}[0,0] - {mat}[1,1] - {mat}[2,2] : {c} "
             "== 1 ? {mat}[1,0] + {mat}[0,1] : {mat}[0,2] + {mat}[2,0]; y := {c} == 3 ? "
             "{mat}[0,2] - {mat}[2,0] : {c} == 0 ? {mat}[1,0] + {mat}[0,1] : {c} == 1 ? 1 - "
             "{mat}[0,0] + {mat}[1,1] - {mat}[2,2] : {mat}[2,1] + {mat}[1,2]; z := {c} == 3 ? "
             "{mat}[1,0] - {mat}[0,1] : {c} == 0 ? {mat}[0,2] + {mat}[2,0] : {c} == 1 ? "
             "{mat}[2,1] + {mat}[1,2] : 1 - {mat}[0,0] - {mat}[1,1] + {mat}[2,2]; w := {c} == 3 ? "
             "1 + {mat}[0,0] + {mat}[1,1] + {mat}[2,2] : {c} == 0 ? {mat}[2,1] - {mat}[1,2] : {c} "
             "== 1 ? {mat}[0,2] - {mat}[2,0] : {mat}[1,0] - {mat}[0,1]; s := 1 / {m}sqrt{f}({x} * "
             "{x} + {y} * {y} + {z} * {z} + {w} * {w}); {mat}[0,3]; {mat}[1,3]; {mat}[2,3]; {x} * "
             "{s}; {y} * {s}; {z} * {s}; {w} * {s}",
     .vjp = "c = _quat_case(mat); e = quat(d[3], d[4], d[5], d[6]); o = quat(r[3], r[4], r[5], "
            "r[6]); g = (e - o * dot(o, e)) * (where(c == 3, o[3], where(c == 0, o[0], where(c == "
            "1, o[1], o[2]))) / where(c == 3, 1 + mat[0, 0] + mat[1, 1] + mat[2, 2], where(c == "
            "0, 1 + mat[0, 0] - mat[1, 1] - mat[2, 2], where(c == 1, 1 - mat[0, 0] + mat[1, 1] - "
            "mat[2, 2], 1 - mat[0, 0] - mat[1, 1] + mat[2, 2])))); mat += mat(4, 0, 0, 0, d[0], "
            "0, 0, 0, d[1], 0, 0, 0, d[2], 0, 0, 0, 0) + where(c == 3, mat(4, g[3], -g[2], g[1], "
            "0, g[2], g[3], -g[0], 0, -g[1], g[0], g[3], 0, 0, 0, 0, 0), where(c == 0, mat(4, "
            "g[0], g[1], g[2], 0, g[1], -g[0], -g[3], 0, g[2], g[3], -g[0], 0, 0, 0, 0, 0), "
            "where(c == 1, mat(4, -g[1], g[0], g[3], 0, g[0], g[1], g[2], 0, -g[3], g[2], -g[1], "
            "0, 0, 0, 0, 0), mat(4, -g[2], -g[3], g[0], 0, g[3], -g[2], g[1], 0, g[0], g[1], "
            "g[2], 0, 0, 0, 0, 0))))",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Transform of a 4x4 matrix of a rotation and a translation."},
    {.name = "transform_point", .sig = "(mat: mat<4,4,F>, point: vec<3,F>) -> vec<3,F>",
     .code = "[i] sum(k<3, {mat}[i,k] * {point}[k]) + {mat}[i,3]",
     .vjp = "mat += mat(4, d[0] * point[0], d[0] * point[1], d[0] * point[2], d[0], d[1] * "
            "point[0], d[1] * point[1], d[1] * point[2], d[1], d[2] * point[0], d[2] * point[1], "
            "d[2] * point[2], d[2], 0, 0, 0, 0); point += vec(mat[0, 0] * d[0] + mat[1, 0] * d[1] "
            "+ mat[2, 0] * d[2], mat[0, 1] * d[0] + mat[1, 1] * d[1] + mat[2, 1] * d[2], mat[0, "
            "2] * d[0] + mat[1, 2] * d[1] + mat[2, 2] * d[2])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Upper part of mat times (point, 1)."},
    {.name = "transform_vector", .sig = "(mat: mat<4,4,F>, vec: vec<3,F>) -> vec<3,F>",
     .code = "[i] sum(k<3, {mat}[i,k] * {vec}[k])",
     .vjp = "mat += mat(4, d[0] * vec[0], d[0] * vec[1], d[0] * vec[2], 0, d[1] * vec[0], d[1] * "
            "vec[1], d[1] * vec[2], 0, d[2] * vec[0], d[2] * vec[1], d[2] * vec[2], 0, 0, 0, 0, "
            "0); vec += vec(mat[0, 0] * d[0] + mat[1, 0] * d[1] + mat[2, 0] * d[2], mat[0, 1] * "
            "d[0] + mat[1, 1] * d[1] + mat[2, 1] * d[2], mat[0, 2] * d[0] + mat[1, 2] * d[1] + "
            "mat[2, 2] * d[2])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Upper part of mat times (vec, 0)."},
    {.name = "transform_inverse", .sig = "(xform: xform<F>) -> xform<F>",
     .code = "t := 2 * {xform}[6] * {xform}[6] - 1; u := 2 * ({xform}[3] * {xform}[0] + "
             "{xform}[4] * {xform}[1] + {xform}[5] * {xform}[2]); v := 2 * {xform}[6]; "
             "-({xform}[0] * {t} - ({xform}[4] * {xform}[2] - {xform}[5] * {xform}[1]) * {v} + "
             "{xform}[3] * {u}); -({xform}[1] * {t} - ({xform}[5] * {xform}[0] - {xform}[3] * "
             "{xform}[2]) * {v} + {xform}[4] * {u}); -({xform}[2] * {t} - ({xform}[3] * "
             "{xform}[1] - {xform}[4] * {xform}[0]) * {v} + {xform}[5] * {u}); -{xform}[3]; "
             "-{xform}[4]; -{xform}[5]; {xform}[6]",
     .vjp = "p = vec(xform[0], xform[1], xform[2]); u = vec(xform[3], xform[4], xform[5]); w = "
            "xform[6]; c = -vec(d[0], d[1], d[2]); g = 2 * (c * dot(u, p) + p * dot(u, c) - w * "
            "cross(p, c)); h = 4 * w * dot(c, p) - 2 * dot(c, cross(u, p)); x = "
            "quat_rotate(quat(xform[3], xform[4], xform[5], xform[6]), c); xform += xform(x[0], "
            "x[1], x[2], g[0] - d[3], g[1] - d[4], g[2] - d[5], h + d[6])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Inverse of a transform with a unit quaternion."},
    {.name = "transform_to_matrix", .sig = "(xform: xform<F>) -> mat<4,4,F>",
     .code = "x := {xform}[3]; y := {xform}[4]; z := {xform}[5]; w := {xform}[6]; t := 2 * {w} * "
             "{w} - 1; {t} + 2 * {x} * {x}; 2 * ({x} * {y} - {w} * {z}); 2 * ({x} * {z} + {w} * "
             "{y}); {xform}[0]; 2 * ({x} * {y} + {w} * {z}); {t} + 2 * {y} * {y}; 2 * ({y} * {z} "
             "- {w} * {x}); {xform}[1]; 2 * ({x} * {z} - {w} * {y}); 2 * ({y} * {z} + {w} * {x}); "
             "{t} + 2 * {z} * {z}; {xform}[2]; 0; 0; 0; 1",
     .vjp = "u = vec(xform[3], xform[4], xform[5]); w = xform[6]; a = vec(d[2, 1] - d[1, 2], d[0, "
            "2] - d[2, 0], d[1, 0] - d[0, 1]); m = mat(3, d[0, 0], d[0, 1], d[0, 2], d[1, 0], "
            "d[1, 1], d[1, 2], d[2, 0], d[2, 1], d[2, 2]); g = 2 * (w * a + mul(m, u) + mul(u, "
            "m)); xform += xform(d[0, 3], d[1, 3], d[2, 3], g[0], g[1], g[2], 4 * w * trace(m) + "
            "2 * dot(u, a))",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "4x4 matrix of a transform with a unit quaternion."},
    {.name = "transform_compose",
     .sig = "(position: vec<3,F>, rotation: quat<F>, scale: vec<3,F>) -> mat<4,4,F>",
     .code = "x := {rotation}[0]; y := {rotation}[1]; z := {rotation}[2]; w := {rotation}[3]; t "
             ":= 2 * {w} * {w} - 1; ({t} + 2 * {x} * {x}) * {scale}[0]; (2 * ({x} * {y} - {w} * "
             "{z})) * {scale}[1]; (2 * ({x} * {z} + {w} * {y})) * {scale}[2]; {position}[0]; (2 * "
             "({x} * {y} + {w} * {z})) * {scale}[0]; ({t} + 2 * {y} * {y}) * {scale}[1]; (2 * "
             "({y} * {z} - {w} * {x})) * {scale}[2]; {position}[1]; (2 * ({x} * {z} - {w} * {y})) "
             "* {scale}[0]; (2 * ({y} * {z} + {w} * {x})) * {scale}[1]; ({t} + 2 * {z} * {z}) * "
             "{scale}[2]; {position}[2]; 0; 0; 0; 1",
     .vjp = "k = quat_to_matrix(rotation); e = mat(3, d[0, 0], d[0, 1], d[0, 2], d[1, 0], d[1, "
            "1], d[1, 2], d[2, 0], d[2, 1], d[2, 2]); m = mul(e, diag(scale)); u = "
            "vec(rotation[0], rotation[1], rotation[2]); a = vec(m[2, 1] - m[1, 2], m[0, 2] - "
            "m[2, 0], m[1, 0] - m[0, 1]); g = 2 * (rotation[3] * a + mul(m, u) + mul(u, m)); "
            "rotation += quat(g[0], g[1], g[2], 4 * rotation[3] * trace(m) + 2 * dot(u, a)); "
            "scale += get_diag(mul(transpose(k), e)); position += vec(d[0, 3], d[1, 3], d[2, 3])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "4x4 matrix that scales, rotates, then translates."},
    {.name = "spatial_vector", .sig = "(w: vec<3,F>, v: vec<3,F>) -> vec<6,F>",
     .code = "{w}[0]; {w}[1]; {w}[2]; {v}[0]; {v}[1]; {v}[2]",
     .vjp = "w += vec(d[0], d[1], d[2]); v += vec(d[3], d[4], d[5])", .grad = Grad::kRule,
     .domain = "-1..1", .group = kGroup, .doc = "Spatial vector of an angular and a linear part."},
    {.name = "spatial_vector", .sig = "(wx: F, wy: F, wz: F, vx: F, vy: F, vz: F) -> vec<6,F>",
     .code = "{wx}; {wy}; {wz}; {vx}; {vy}; {vz}",
     .vjp = "wx += d[0]; wy += d[1]; wz += d[2]; vx += d[3]; vy += d[4]; vz += d[5]",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Spatial vector of six components."},
    {.name = "spatial_top", .sig = "(svec: vec<6,F>) -> vec<3,F>", .code = "[i] {svec}[i]",
     .vjp = "svec += vec(d[0], d[1], d[2], 0, 0, 0)", .grad = Grad::kRule, .domain = "-1..1",
     .group = kGroup, .doc = "Angular part of a spatial vector."},
    {.name = "spatial_bottom", .sig = "(svec: vec<6,F>) -> vec<3,F>", .code = "[i] {svec}[i+3]",
     .vjp = "svec += vec(0, 0, 0, d[0], d[1], d[2])", .grad = Grad::kRule, .domain = "-1..1",
     .group = kGroup, .doc = "Linear part of a spatial vector."},
    {.name = "spatial_dot", .sig = "(a: vec<6,F>, b: vec<6,F>) -> F",
     .code = "sum(i<6, {a}[i] * {b}[i])", .vjp = "a += d * b; b += d * a", .grad = Grad::kRule,
     .domain = "-1..1", .group = kGroup, .doc = "Sum of the products of components."},
    {.name = "spatial_cross", .sig = "(a: vec<6,F>, b: vec<6,F>) -> vec<6,F>",
     .code = "{a}[1] * {b}[2] - {a}[2] * {b}[1]; {a}[2] * {b}[0] - {a}[0] * {b}[2]; {a}[0] * "
             "{b}[1] - {a}[1] * {b}[0]; {a}[4] * {b}[2] - {a}[5] * {b}[1] + ({a}[1] * {b}[5] - "
             "{a}[2] * {b}[4]); {a}[5] * {b}[0] - {a}[3] * {b}[2] + ({a}[2] * {b}[3] - {a}[0] * "
             "{b}[5]); {a}[3] * {b}[1] - {a}[4] * {b}[0] + ({a}[0] * {b}[4] - {a}[1] * {b}[3])",
     .vjp = "a += spatial_cross_dual(b, d); b += -spatial_cross_dual(a, d)", .grad = Grad::kRule,
     .domain = "-1..1", .group = kGroup,
     .doc = "Cross product of two twists: (wa x wb, va x wb + wa x vb)."},
    {.name = "spatial_cross_dual", .sig = "(a: vec<6,F>, b: vec<6,F>) -> vec<6,F>",
     .code = "{a}[1] * {b}[2] - {a}[2] * {b}[1] + ({a}[4] * {b}[5] - {a}[5] * {b}[4]); {a}[2] * "
             "{b}[0] - {a}[0] * {b}[2] + ({a}[5] * {b}[3] - {a}[3] * {b}[5]); {a}[0] * {b}[1] - "
             "{a}[1] * {b}[0] + ({a}[3] * {b}[4] - {a}[4] * {b}[3]); {a}[1] * {b}[5] - {a}[2] * "
             "{b}[4]; {a}[2] * {b}[3] - {a}[0] * {b}[5]; {a}[0] * {b}[4] - {a}[1] * {b}[3]",
     .vjp = "t = vec(d[0], d[1], d[2]); u = vec(d[3], d[4], d[5]); n = vec(b[0], b[1], b[2]); f = "
            "vec(b[3], b[4], b[5]); x = cross(n, t) + cross(f, u); y = cross(f, t); a += "
            "vec(x[0], x[1], x[2], y[0], y[1], y[2]); b += -spatial_cross(a, d)",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Cross product of a twist and a wrench: (w x n + v x f, w x f)."},
    {.name = "spatial_adjoint", .sig = "(r: mat<3,3,F>, s: mat<3,3,F>) -> mat<6,6,F>",
     .code = "{r}[0,0]; {r}[0,1]; {r}[0,2]; 0; 0; 0; {r}[1,0]; {r}[1,1]; {r}[1,2]; 0; "
             "0; 0; {r}[2,0]; {r}[2,1]; {r}[2,2]; 0; 0; 0; {s}[0,0]; {s}[0,1]; {s}[0,2]; "
             "{r}[0,0]; {r}[0,1]; {r}[0,2]; {s}[1,0]; {s}[1,1]; {s}[1,2]; {r}[1,0]; "
             "{r}[1,1]; {r}[1,2]; {s}[2,0]; {s}[2,1]; {s}[2,2]; {r}[2,0]; {r}[2,1]; "
             "{r}[2,2]",
     .vjp = "r += mat(3, d[0, 0] + d[3, 3], d[0, 1] + d[3, 4], d[0, 2] + d[3, 5], d[1, 0] + "
            "d[4, 3], d[1, 1] + d[4, 4], d[1, 2] + d[4, 5], d[2, 0] + d[5, 3], d[2, 1] + d[5, 4], "
            "d[2, 2] + d[5, 5]); s += mat(3, d[3, 0], d[3, 1], d[3, 2], d[4, 0], d[4, 1], d[4, "
            "2], d[5, 0], d[5, 1], d[5, 2])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "6x6 matrix with r twice on the diagonal and s in the lower left."},
    {.name = "transform_twist", .sig = "(t: xform<F>, x: vec<6,F>) -> vec<6,F>",
     .code = "k := 2 * {t}[6] * {t}[6] - 1; h := 2 * {t}[6]; eu := 2 * ({t}[3] * {x}[0] + {t}[4] "
             "* {x}[1] + {t}[5] * {x}[2]); e0 := {x}[0] * {k} + ({t}[4] * {x}[2] - {t}[5] * "
             "{x}[1]) * {h} + {t}[3] * {eu}; e1 := {x}[1] * {k} + ({t}[5] * {x}[0] - {t}[3] * "
             "{x}[2]) * {h} + {t}[4] * {eu}; e2 := {x}[2] * {k} + ({t}[3] * {x}[1] - {t}[4] * "
             "{x}[0]) * {h} + {t}[5] * {eu}; gu := 2 * ({t}[3] * {x}[3] + {t}[4] * {x}[4] + "
             "{t}[5] * {x}[5]); g0 := {x}[3] * {k} + ({t}[4] * {x}[5] - {t}[5] * {x}[4]) * {h} + "
             "{t}[3] * {gu}; g1 := {x}[4] * {k} + ({t}[5] * {x}[3] - {t}[3] * {x}[5]) * {h} + "
             "{t}[4] * {gu}; g2 := {x}[5] * {k} + ({t}[3] * {x}[4] - {t}[4] * {x}[3]) * {h} + "
             "{t}[5] * {gu}; {e0}; {e1}; {e2}; {g0} + ({t}[1] * {e2} - {t}[2] * {e1}); {g1} + "
             "({t}[2] * {e0} - {t}[0] * {e2}); {g2} + ({t}[0] * {e1} - {t}[1] * {e0})",
     .vjp = "p = vec(t[0], t[1], t[2]); q = quat(t[3], t[4], t[5], t[6]); u = vec(t[3], t[4], "
            "t[5]); w = t[6]; a = vec(x[0], x[1], x[2]); b = vec(x[3], x[4], x[5]); dv = "
            "vec(d[3], d[4], d[5]); dw = vec(d[0], d[1], d[2]) + cross(dv, p); m = 2 * (w * "
            "cross(a, dw) + dw * dot(u, a) + a * dot(u, dw)); mw = 4 * w * dot(dw, a) + 2 * "
            "dot(dw, cross(u, a)); n = 2 * (w * cross(b, dv) + dv * dot(u, b) + b * dot(u, dv)); "
            "nw = 4 * w * dot(dv, b) + 2 * dot(dv, cross(u, b)); dp = cross(vec(r[0], r[1], "
            "r[2]), dv); o = m + n; t += xform(dp[0], dp[1], dp[2], o[0], o[1], o[2], mw + nw); y "
            "= quat_rotate_inv(q, dw); z = quat_rotate_inv(q, dv); x += vec(y[0], y[1], y[2], "
            "z[0], z[1], z[2])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Twist in another frame: (R w, R v + p x R w)."},
    {.name = "transform_wrench", .sig = "(t: xform<F>, x: vec<6,F>) -> vec<6,F>",
     .code = "k := 2 * {t}[6] * {t}[6] - 1; h := 2 * {t}[6]; eu := 2 * ({t}[3] * {x}[0] + {t}[4] "
             "* {x}[1] + {t}[5] * {x}[2]); e0 := {x}[0] * {k} + ({t}[4] * {x}[2] - {t}[5] * "
             "{x}[1]) * {h} + {t}[3] * {eu}; e1 := {x}[1] * {k} + ({t}[5] * {x}[0] - {t}[3] * "
             "{x}[2]) * {h} + {t}[4] * {eu}; e2 := {x}[2] * {k} + ({t}[3] * {x}[1] - {t}[4] * "
             "{x}[0]) * {h} + {t}[5] * {eu}; gu := 2 * ({t}[3] * {x}[3] + {t}[4] * {x}[4] + "
             "{t}[5] * {x}[5]); g0 := {x}[3] * {k} + ({t}[4] * {x}[5] - {t}[5] * {x}[4]) * {h} + "
             "{t}[3] * {gu}; g1 := {x}[4] * {k} + ({t}[5] * {x}[3] - {t}[3] * {x}[5]) * {h} + "
             "{t}[4] * {gu}; g2 := {x}[5] * {k} + ({t}[3] * {x}[4] - {t}[4] * {x}[3]) * {h} + "
             "{t}[5] * {gu}; {e0} + ({t}[1] * {g2} - {t}[2] * {g1}); {e1} + ({t}[2] * {g0} - "
             "{t}[0] * {g2}); {e2} + ({t}[0] * {g1} - {t}[1] * {g0}); {g0}; {g1}; {g2}",
     .vjp = "p = vec(t[0], t[1], t[2]); q = quat(t[3], t[4], t[5], t[6]); u = vec(t[3], t[4], "
            "t[5]); w = t[6]; a = vec(x[0], x[1], x[2]); b = vec(x[3], x[4], x[5]); dw = "
            "vec(d[0], d[1], d[2]); dv = vec(d[3], d[4], d[5]) + cross(dw, p); m = 2 * (w * "
            "cross(a, dw) + dw * dot(u, a) + a * dot(u, dw)); mw = 4 * w * dot(dw, a) + 2 * "
            "dot(dw, cross(u, a)); n = 2 * (w * cross(b, dv) + dv * dot(u, b) + b * dot(u, dv)); "
            "nw = 4 * w * dot(dv, b) + 2 * dot(dv, cross(u, b)); dp = cross(vec(r[3], r[4], "
            "r[5]), dw); o = m + n; t += xform(dp[0], dp[1], dp[2], o[0], o[1], o[2], mw + nw); y "
            "= quat_rotate_inv(q, dw); z = quat_rotate_inv(q, dv); x += vec(y[0], y[1], y[2], "
            "z[0], z[1], z[2])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Wrench in another frame: (R n + p x R f, R f)."},
    {.name = "velocity_at_point", .sig = "(qd: vec<6,F>, r: vec<3,F>) -> vec<3,F>",
     .code = "{qd}[3] + ({qd}[1] * {r}[2] - {qd}[2] * {r}[1]); {qd}[4] + ({qd}[2] * "
             "{r}[0] - {qd}[0] * {r}[2]); {qd}[5] + ({qd}[0] * {r}[1] - {qd}[1] * "
             "{r}[0])",
     .vjp = "w = cross(r, d); qd += vec(w[0], w[1], w[2], d[0], d[1], d[2]); r += "
            "cross(d, vec(qd[0], qd[1], qd[2]))",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Linear velocity v + w x r of the point r of a moving body."},
};
// clang-format on
static_assert(rows_ok(kRows), "a row lacks name, sig, code, grad decision, group or doc");

}  // namespace

std::span<const BuiltinDef> transform_rows() { return kRows; }

}  // namespace wt::builtins
