// SPDX-License-Identifier: Apache-2.0
// quat.cpp: rows of quaternions (x, y, z, w).
#include "csrc/codegen/builtins/tables.h"

namespace wt::builtins {
namespace {

constexpr std::string_view kGroup = "Quaternion math";
/// Rows that only the rules of others use.
constexpr std::string_view kInternal = "Internal";

// One row is a few full lines, not one line a field.
// clang-format off
constexpr BuiltinDef kRows[] = {
    {.name = "add", .sig = "(a: quat<F>, b: quat<F>) -> quat<F>", .code = "{a} + {b}",
     .vjp = "a += d; b += d", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Sum of two quaternions."},
    {.name = "sub", .sig = "(a: quat<F>, b: quat<F>) -> quat<F>", .code = "{a} - {b}",
     .vjp = "a += d; b += -d", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Difference of two quaternions."},
    {.name = "neg", .sig = "(x: quat<F>) -> quat<F>", .code = "-{x}", .vjp = "x += -d",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup, .doc = "Opposite of a quaternion."},
    {.name = "pos", .sig = "(x: quat<F>) -> quat<F>", .code = "{x}", .vjp = "x += d",
     .grad = Grad::kRule, .domain = "-3..3", .group = kGroup, .doc = "x itself."},
    {.name = "mul", .sig = "(a: quat<F>, b: F) -> quat<F>", .code = "{a} * {b}",
     .vjp = "a += d * b; b += dot(d, a)", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Every component of a times b."},
    {.name = "mul", .sig = "(a: F, b: quat<F>) -> quat<F>", .code = "{a} * {b}",
     .vjp = "b += d * a; a += dot(d, b)", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "a times every component of b."},
    {.name = "mul", .sig = "(a: quat<F>, b: quat<F>) -> quat<F>",
     .code = "{a}[3] * {b}[0] + {a}[0] * {b}[3] + {a}[1] * {b}[2] - {a}[2] * {b}[1]; {a}[3] * "
             "{b}[1] + {a}[1] * {b}[3] + {a}[2] * {b}[0] - {a}[0] * {b}[2]; {a}[3] * {b}[2] + "
             "{a}[2] * {b}[3] + {a}[0] * {b}[1] - {a}[1] * {b}[0]; {a}[3] * {b}[3] - {a}[0] * "
             "{b}[0] - {a}[1] * {b}[1] - {a}[2] * {b}[2]",
     .vjp = "a += mul(d, quat_inverse(b)); b += mul(quat_inverse(a), d)", .grad = Grad::kRule,
     .domain = "-3..3", .group = kGroup,
     .doc = "Product of two quaternions: the rotation b, then a."},
    {.name = "div", .sig = "(a: quat<F>, b: F) -> quat<F>", .code = "{a} / {b}",
     .vjp = "a += d / b; b += -dot(d, r) / b", .grad = Grad::kRule, .guard = true,
     .domain = "a: -3..3; b: 0.5..3", .group = kGroup, .doc = "Every component of a divided by b."},
    {.name = "eq", .sig = "(a: quat<F>, b: quat<F>) -> bool", .code = "all(i<4, {a}[i] == {b}[i])",
     .grad = Grad::kZero, .domain = "-2..2", .group = kGroup,
     .doc = "True if all components are equal."},
    {.name = "ne", .sig = "(a: quat<F>, b: quat<F>) -> bool", .code = "any(i<4, {a}[i] != {b}[i])",
     .grad = Grad::kZero, .domain = "-2..2", .group = kGroup,
     .doc = "True if any component differs."},
    {.name = "dot", .sig = "(a: quat<F>, b: quat<F>) -> F", .code = "sum(i<4, {a}[i] * {b}[i])",
     .vjp = "a += d * b; b += d * a", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Sum of the products of components."},
    {.name = "length", .sig = "(a: quat<F>) -> F", .code = "{m}sqrt{f}(sum(i<4, {a}[i] * {a}[i]))",
     .vjp = "a += where(r > 0, d / r * a, 0)", .grad = Grad::kRule, .domain = "-3..3",
     .group = kGroup, .doc = "Euclidean length; the derivative at 0 is 0."},
    {.name = "length_sq", .sig = "(a: quat<F>) -> F", .code = "sum(i<4, {a}[i] * {a}[i])",
     .vjp = "a += 2 * d * a", .grad = Grad::kRule, .domain = "-3..3", .group = kGroup,
     .doc = "Squared length."},
    {.name = "normalize", .sig = "(a: quat<F>) -> quat<F>",
     .code = "l := {m}sqrt{f}(sum(i<4, {a}[i] * {a}[i])); [i] {l} > 0 ? {a}[i] / {l} : {i} == 3 ? "
             "{F}(1) : {F}(0)",
     .vjp = "l = length(a); a += where(l > 0, (d - r * dot(r, d)) / l, 0)", .grad = Grad::kRule,
     .domain = "0.3..3", .group = kGroup,
     .doc = "a divided by its length; the identity when the length is 0."},
    {.name = "lerp", .sig = "(a: quat<F>, b: quat<F>, t: F) -> quat<F>",
     .code = "{a} * (1 - {t}) + {b} * {t}",
     .vjp = "a += d * (1 - t); b += d * t; t += dot(d, b - a)", .grad = Grad::kRule,
     .domain = "-2..2", .group = kGroup, .doc = "a * (1 - t) + b * t."},
    {.name = "isnan", .sig = "(a: quat<F>) -> bool", .code = "any(i<4, {a}[i] != {a}[i])",
     .grad = Grad::kZero, .domain = "-3..3", .group = kGroup,
     .doc = "True if any component is NaN."},
    {.name = "isinf", .sig = "(a: quat<F>) -> bool",
     .code = "any(i<4, ({a}[i] == {a}[i] && {a}[i] - {a}[i] != 0))", .grad = Grad::kZero,
     .domain = "-3..3", .group = kGroup, .doc = "True if any component is infinite."},
    {.name = "isfinite", .sig = "(a: quat<F>) -> bool", .code = "all(i<4, {a}[i] - {a}[i] == 0)",
     .grad = Grad::kZero, .domain = "-3..3", .group = kGroup,
     .doc = "True if all components are finite."},
    {.name = "quaternion", .sig = "(x: F, y: F, z: F, w: F) -> quat<F>",
     .code = "{x}; {y}; {z}; {w}", .vjp = "x += d[0]; y += d[1]; z += d[2]; w += d[3]",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Quaternion of four components."},
    {.name = "quaternion", .sig = "(ijk: vec<3,F>, real: F) -> quat<F>",
     .code = "{ijk}[0]; {ijk}[1]; {ijk}[2]; {real}",
     .vjp = "ijk += vec(d[0], d[1], d[2]); real += d[3]", .grad = Grad::kRule, .domain = "-1..1",
     .group = kGroup, .doc = "Quaternion of its vector and its real part."},
    {.name = "quat_identity", .sig = "() -> quat<f32>", .code = "0; 0; 0; 1", .grad = Grad::kZero,
     .group = kGroup, .doc = "The rotation by nothing."},
    {.name = "quat_inverse", .sig = "(quat: quat<F>) -> quat<F>",
     .code = "-{quat}[0]; -{quat}[1]; -{quat}[2]; {quat}[3]", .vjp = "quat += quat_inverse(d)",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Conjugate, the inverse of a unit quaternion."},
    {.name = "quat_rotate", .sig = "(quat: quat<F>, vec: vec<3,F>) -> vec<3,F>",
     .code = "t := 2 * {quat}[3] * {quat}[3] - 1; u := 2 * ({quat}[0] * {vec}[0] + {quat}[1] * "
             "{vec}[1] + {quat}[2] * {vec}[2]); v := 2 * {quat}[3]; {vec}[0] * {t} + ({quat}[1] * "
             "{vec}[2] - {quat}[2] * {vec}[1]) * {v} + {quat}[0] * {u}; {vec}[1] * {t} + "
             "({quat}[2] * {vec}[0] - {quat}[0] * {vec}[2]) * {v} + {quat}[1] * {u}; {vec}[2] * "
             "{t} + ({quat}[0] * {vec}[1] - {quat}[1] * {vec}[0]) * {v} + {quat}[2] * {u}",
     .vjp = "u = vec(quat[0], quat[1], quat[2]); w = quat[3]; g = 2 * (w * cross(vec, d) + d * "
            "dot(u, vec) + vec * dot(u, d)); quat += quat(g[0], g[1], g[2], 4 * w * dot(d, vec) + "
            "2 * dot(d, cross(u, vec))); vec += quat_rotate_inv(quat, d)",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "vec rotated by a unit quaternion."},
    {.name = "quat_rotate_inv", .sig = "(quat: quat<F>, vec: vec<3,F>) -> vec<3,F>",
     .code = "t := 2 * {quat}[3] * {quat}[3] - 1; u := 2 * ({quat}[0] * {vec}[0] + {quat}[1] * "
             "{vec}[1] + {quat}[2] * {vec}[2]); v := 2 * {quat}[3]; {vec}[0] * {t} - ({quat}[1] * "
             "{vec}[2] - {quat}[2] * {vec}[1]) * {v} + {quat}[0] * {u}; {vec}[1] * {t} - "
             "({quat}[2] * {vec}[0] - {quat}[0] * {vec}[2]) * {v} + {quat}[1] * {u}; {vec}[2] * "
             "{t} - ({quat}[0] * {vec}[1] - {quat}[1] * {vec}[0]) * {v} + {quat}[2] * {u}",
     .vjp = "u = vec(quat[0], quat[1], quat[2]); w = quat[3]; g = 2 * (d * dot(u, vec) + vec * "
            "dot(u, d) - w * cross(vec, d)); quat += quat(g[0], g[1], g[2], 4 * w * dot(d, vec) - "
            "2 * dot(d, cross(u, vec))); vec += quat_rotate(quat, d)",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "vec rotated by the inverse of a unit quaternion."},
    {.name = "quat_from_axis_angle", .sig = "(axis: vec<3,F>, angle: F) -> quat<F>",
     .code = "h := {angle} * {F}(0.5); s := {m}sin{f}({h}); {axis}[0] * {s}; {axis}[1] * {s}; "
             "{axis}[2] * {s}; {m}cos{f}({h})",
     .vjp = "h = 0.5 * angle; v = vec(d[0], d[1], d[2]); axis += v * sin(h); angle += 0.5 * "
            "(dot(v, axis) * cos(h) - d[3] * sin(h))",
     .grad = Grad::kRule, .domain = "-2..2", .group = kGroup,
     .doc = "Rotation by angle about a unit axis."},
    {.name = "quat_to_axis_angle", .sig = "(quat: quat<F>) -> (vec<3,F>, F)",
     .code = "l := {m}sqrt{f}(sum(i<3, {quat}[i] * {quat}[i])); s := {l} > 0 ? ({quat}[3] < 0 ? "
             "-1 / {l} : 1 / {l}) : 0; {quat}[0] * {s}; {quat}[1] * {s}; {quat}[2] * {s}; 2 * "
             "{m}atan2{f}({l}, {m}fabs{f}({quat}[3]))",
     .vjp = "l = length(vec(quat[0], quat[1], quat[2])); s = where(quat[3] < 0, -1, 1); n = l * l "
            "+ quat[3] * quat[3]; g = where(l > 0, s * (d0 - r0 * dot(r0, d0)) / l, 0) + s * 2 * "
            "abs(quat[3]) / n * d1 * r0; quat += quat(g[0], g[1], g[2], -2 * s * l / n * d1)",
     .grad = Grad::kRule, .domain = "0.2..1", .group = kGroup,
     .doc = "Axis and angle in [0, pi] of a rotation; a zero axis for none."},
    {.name = "quat_to_matrix", .sig = "(quat: quat<F>) -> mat<3,3,F>",
     .code = "x := {quat}[0]; y := {quat}[1]; z := {quat}[2]; w := {quat}[3]; t := 2 * {w} * {w} "
             "- 1; {t} + 2 * {x} * {x}; 2 * ({x} * {y} - {w} * {z}); 2 * ({x} * {z} + {w} * {y}); "
             "2 * ({x} * {y} + {w} * {z}); {t} + 2 * {y} * {y}; 2 * ({y} * {z} - {w} * {x}); 2 * "
             "({x} * {z} - {w} * {y}); 2 * ({y} * {z} + {w} * {x}); {t} + 2 * {z} * {z}",
     .vjp = "u = vec(quat[0], quat[1], quat[2]); a = vec(d[2, 1] - d[1, 2], d[0, 2] - d[2, 0], "
            "d[1, 0] - d[0, 1]); g = 2 * (quat[3] * a + mul(d, u) + mul(u, d)); quat += "
            "quat(g[0], g[1], g[2], 4 * quat[3] * trace(d) + 2 * dot(u, a))",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Rotation matrix of a unit quaternion."},
    {.name = "_quat_case", .sig = "(mat: mat<3,3,F>) -> i32",
     .code = "{mat}[0,0] + {mat}[1,1] + {mat}[2,2] >= 0 ? 3 : {mat}[0,0] >= {mat}[1,1] && "
             "{mat}[0,0] >= {mat}[2,2] ? 0 : {mat}[1,1] >= {mat}[2,2] ? 1 : 2",
     .grad = Grad::kZero, .domain = "-1..1", .group = kInternal,
     .doc = "Component that quat_from_matrix divides by."},
    {.name = "_quat_case", .sig = "(mat: mat<4,4,F>) -> i32",
     .code = "{mat}[0,0] + {mat}[1,1] + {mat}[2,2] >= 0 ? 3 : {mat}[0,0] >= {mat}[1,1] && "
             "{mat}[0,0] >= {mat}[2,2] ? 0 : {mat}[1,1] >= {mat}[2,2] ? 1 : 2",
     .grad = Grad::kZero, .domain = "-1..1", .group = kInternal,
     .doc = "Component that quat_from_matrix divides by."},
    {.name = "quat_from_matrix", .sig = "(mat: mat<3,3,F>) -> quat<F>",
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
             "{x} + {y} * {y} + {z} * {z} + {w} * {w}); {x} * {s}; {y} * {s}; {z} * {s}; {w} * "
             "{s}",
     .vjp = "c = _quat_case(mat); g = (d - r * dot(r, d)) * (where(c == 3, r[3], where(c == 0, "
            "r[0], where(c == 1, r[1], r[2]))) / where(c == 3, 1 + mat[0, 0] + mat[1, 1] + mat[2, "
            "2], where(c == 0, 1 + mat[0, 0] - mat[1, 1] - mat[2, 2], where(c == 1, 1 - mat[0, 0] "
            "+ mat[1, 1] - mat[2, 2], 1 - mat[0, 0] - mat[1, 1] + mat[2, 2])))); mat += where(c "
            "== 3, mat(3, g[3], -g[2], g[1], g[2], g[3], -g[0], -g[1], g[0], g[3]), where(c == 0, "
            "mat(3, g[0], g[1], g[2], g[1], -g[0], -g[3], g[2], g[3], -g[0]), where(c == 1, "
            "mat(3, -g[1], g[0], g[3], g[0], g[1], g[2], -g[3], g[2], -g[1]), mat(3, -g[2], "
            "-g[3], g[0], g[3], -g[2], g[1], g[0], g[1], g[2]))))",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Unit quaternion of a rotation matrix."},
    {.name = "quat_from_matrix", .sig = "(mat: mat<4,4,F>) -> quat<F>",
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
             "{x} + {y} * {y} + {z} * {z} + {w} * {w}); {x} * {s}; {y} * {s}; {z} * {s}; {w} * "
             "{s}",
     .vjp = "c = _quat_case(mat); g = (d - r * dot(r, d)) * (where(c == 3, r[3], where(c == 0, "
            "r[0], where(c == 1, r[1], r[2]))) / where(c == 3, 1 + mat[0, 0] + mat[1, 1] + mat[2, "
            "2], where(c == 0, 1 + mat[0, 0] - mat[1, 1] - mat[2, 2], where(c == 1, 1 - mat[0, 0] "
            "+ mat[1, 1] - mat[2, 2], 1 - mat[0, 0] - mat[1, 1] + mat[2, 2])))); mat += where(c "
            "== 3, mat(4, g[3], -g[2], g[1], 0, g[2], g[3], -g[0], 0, -g[1], g[0], g[3], 0, 0, 0, "
            "0, 0), where(c == 0, mat(4, g[0], g[1], g[2], 0, g[1], -g[0], -g[3], 0, g[2], g[3], "
            "-g[0], 0, 0, 0, 0, 0), where(c == 1, mat(4, -g[1], g[0], g[3], 0, g[0], g[1], g[2], "
            "0, -g[3], g[2], -g[1], 0, 0, 0, 0, 0), mat(4, -g[2], -g[3], g[0], 0, g[3], -g[2], "
            "g[1], 0, g[0], g[1], g[2], 0, 0, 0, 0, 0))))",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Unit quaternion of a rotation matrix in the upper left of a 4x4 one."},
    {.name = "quat_rpy", .sig = "(roll: F, pitch: F, yaw: F) -> quat<F>",
     .code = "a := {roll} * {F}(0.5); b := {pitch} * {F}(0.5); c := {yaw} * {F}(0.5); sr := "
             "{m}sin{f}({a}); cr := {m}cos{f}({a}); sp := {m}sin{f}({b}); cp := {m}cos{f}({b}); "
             "sy := {m}sin{f}({c}); cy := {m}cos{f}({c}); {sr} * {cp} * {cy} - {cr} * {sp} * "
             "{sy}; {cr} * {sp} * {cy} + {sr} * {cp} * {sy}; {cr} * {cp} * {sy} - {sr} * {sp} * "
             "{cy}; {cr} * {cp} * {cy} + {sr} * {sp} * {sy}",
     .vjp = "x = quat(1, 0, 0, 0); y = quat(0, 1, 0, 0); z = quat(0, 0, 1, 0); roll += 0.5 * "
            "dot(d, mul(r, x)); yaw += 0.5 * dot(d, mul(z, r)); s = quat_from_axis_angle(vec(0, "
            "0, 1), yaw); pitch += 0.5 * dot(d, mul(mul(s, y), mul(quat_inverse(s), r)))",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Rotation by roll, pitch and yaw about the fixed x, y and z axes."},
    {.name = "quat_to_rpy", .sig = "(q: quat<F>) -> vec<3,F>",
     .code = "x := {q}[0]; y := {q}[1]; z := {q}[2]; w := {q}[3]; s := 2 * ({w} * {y} - {z} * "
             "{x}); {m}atan2{f}(2 * ({w} * {x} + {y} * {z}), 1 - 2 * ({x} * {x} + {y} * {y})); "
             "{m}asin{f}({s} > 1 ? {F}(1) : {s} < -1 ? {F}(-1) : {s}); {m}atan2{f}(2 * ({w} * {z} "
             "+ {x} * {y}), 1 - 2 * ({y} * {y} + {z} * {z}))",
     .vjp = "x = q[0]; y = q[1]; z = q[2]; w = q[3]; a = 2 * (w * x + y * z); b = 1 - 2 * (x * x "
            "+ y * y); c = 2 * (w * z + x * y); e = 1 - 2 * (y * y + z * z); s = 2 * (w * y - z * "
            "x); m = a * a + b * b; n = c * c + e * e; m = where(m > 0, m, 1); n = where(n > 0, n, "
            "1); da = 2 * d[0] * b / m; db = -4 * d[0] * a / m; dc = 2 * d[2] * e / n; de = -4 * "
            "d[2] * c / n; o = abs(s) < 1; ds = where(o, 2 * d[1] * rsqrt(where(o, 1 - s * s, 1)), "
            "0); q += quat(w * da - z * ds + y * dc - x * db, z * da + w * ds + x * dc - y * db - "
            "y * de, y * da + w * dc - x * ds - z * de, x * da + y * ds + z * dc)",
     .grad = Grad::kRule, .domain = "0.1..0.5", .group = kGroup,
     .doc = "Roll, pitch and yaw of a unit quaternion."},
    // With S1(x) = sin(sqrt(x)) / sqrt(x), which is smooth, there is no special case for small angles.
    {.name = "quat_slerp", .sig = "(a: quat<F>, b: quat<F>, t: F) -> quat<F>",
     .expand = "m = length(a); n = length(b); s = dot(a, b); e = where(s < 0, -1, 1); x = "
               "_arc_sq(where(m * n > 0, e * s / (m * n), 1)); f = _stumpff(x, 1); u = 1 - t; p = "
               "where(n > 0, u * _stumpff(u * u * x, 1) / f, 1); q = where(n > 0, e * t * m * "
               "_stumpff(t * t * x, 1) / (f * n), 0); a * p + b * q",
     .grad = Grad::kRule, .domain = "a: 0.1..1; b: -1..-0.1; t: 0.1..0.9", .group = kGroup,
     .doc = "Shortest-arc interpolation from the quaternion a to the direction of b at constant "
            "rate."},
    {.name = "quat_twist", .sig = "(axis: vec<3,F>, q: quat<F>) -> quat<F>",
     .code = "a := sum(i<3, {axis}[i] * {q}[i]); n := sum(i<3, {axis}[i] * {axis}[i]) * {a} * {a} "
             "+ {q}[3] * {q}[3]; s := {n} > 0 ? 1 / {m}sqrt{f}({n}) : 0; {axis}[0] * {a} * {s}; "
             "{axis}[1] * {a} * {s}; {axis}[2] * {a} * {s}; {n} > 0 ? {q}[3] * {s} : 1",
     .vjp = "v = vec(q[0], q[1], q[2]); a = dot(axis, v); n = sqrt(length_sq(axis) * a * a + q[3] "
            "* q[3]); g = where(n > 0, (d - r * dot(r, d)) / n, 0); gv = vec(g[0], g[1], g[2]); "
            "ga = dot(gv, axis); axis += gv * a + v * ga; w = axis * ga; q += quat(w[0], w[1], "
            "w[2], g[3])",
     .grad = Grad::kRule, .domain = "0.1..1", .group = kGroup,
     .doc = "Part of a rotation that turns about a unit axis."},
    {.name = "quat_twist_angle", .sig = "(axis: vec<3,F>, q: quat<F>) -> F",
     .code = "2 * {m}atan2{f}({m}fabs{f}(sum(i<3, {axis}[i] * {q}[i])), {q}[3])",
     .vjp = "v = vec(q[0], q[1], q[2]); a = dot(axis, v); n = a * a + q[3] * q[3]; g = where(n > "
            "0, 2 * d * q[3] / n, 0) * where(a > 0, 1, where(a < 0, -1, 0)); axis += v * g; w = "
            "axis * g; q += quat(w[0], w[1], w[2], where(n > 0, -2 * d * abs(a) / n, 0))",
     .grad = Grad::kRule, .domain = "0.1..1", .group = kGroup,
     .doc = "Angle, without its sign, by which a rotation turns about a unit axis."},
    {.name = "quat_twist_angle_signed", .sig = "(axis: vec<3,F>, q: quat<F>) -> F",
     .code = "2 * {m}atan2{f}(sum(i<3, {axis}[i] * {q}[i]), {q}[3])",
     .vjp = "v = vec(q[0], q[1], q[2]); a = dot(axis, v); n = a * a + q[3] * q[3]; g = where(n > "
            "0, 2 * d * q[3] / n, 0); axis += v * g; w = axis * g; q += quat(w[0], w[1], w[2], "
            "where(n > 0, -2 * d * a / n, 0))",
     .grad = Grad::kRule, .domain = "0.1..1", .group = kGroup,
     .doc = "Signed angle by which a rotation turns about a unit axis."},
};
// clang-format on
static_assert(rows_ok(kRows), "a row lacks name, sig, code, grad decision, group or doc");

}  // namespace

std::span<const BuiltinDef> quat_rows() { return kRows; }

}  // namespace wt::builtins
