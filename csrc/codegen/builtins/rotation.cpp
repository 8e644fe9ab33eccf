// SPDX-License-Identifier: Apache-2.0
// rotation.cpp: rows of conversions between quaternions, Euler angles, rotation vectors and
// matrices with scale.
#include "csrc/codegen/builtins/tables.h"

namespace wt::builtins {
namespace {

constexpr std::string_view kGroup = "Quaternion math";
constexpr std::string_view kTransforms = "Transforms and spatial vectors";
/// Rows that only the rules of others use.
constexpr std::string_view kInternal = "Internal";

// One row is a few full lines, not one line a field.
// clang-format off
constexpr BuiltinDef kRows[] = {
    {.name = "quat_to_axis_angle", .sig = "(quat: quat<F>, axis: inout vec<3,F>, angle: inout F) -> ()",
     .code = "l := {m}sqrt{f}(sum(i<3, {quat}[i] * {quat}[i])); s := {l} > 0 ? ({quat}[3] < 0 ? "
             "-1 / {l} : 1 / {l}) : 0; {quat}[0] * {s}; {quat}[1] * {s}; {quat}[2] * {s}; 2 * "
             "{m}atan2{f}({l}, {m}fabs{f}({quat}[3]))",
     .vjp = "l = length(vec(quat[0], quat[1], quat[2])); s = where(quat[3] < 0, -1, 1); n = l * l "
            "+ quat[3] * quat[3]; g = where(l > 0, s * (d0 - r0 * dot(r0, d0)) / l, 0) + s * 2 * "
            "abs(quat[3]) / n * d1 * r0; quat += quat(g[0], g[1], g[2], -2 * s * l / n * d1)",
     .grad = Grad::kRule, .domain = "0.2..1", .group = kGroup,
     .doc = "quat_to_axis_angle into the variables axis and angle."},
    {.name = "quat_from_euler", .sig = "(e: vec<3,F>, i: i32, j: i32, k: i32) -> quat<F>",
     .code = "wt_from_euler<{F}>({&e}, {i}, {j}, {k}, {&r})", .device = "rotation",
     .vjp = "ui = _unit_quat(e, i); uj = _unit_quat(e, j); uk = _unit_quat(e, k); t = 0.5 * "
            "_pick(e, k); o = _unit(e, k); s = sin(t); q = quat(o[0] * s, o[1] * s, o[2] * s, "
            "cos(t)); e += _place(e, 0.5 * dot(d, mul(r, ui)), i) + _place(e, 0.5 * dot(d, "
            "mul(mul(q, uj), mul(quat_inverse(q), r))), j) + _place(e, 0.5 * dot(d, mul(uk, r)), "
            "k)",
     .grad = Grad::kRule, .domain = "e: -1.5..1.5; i: 0..2; j: 0..2; k: 0..2", .group = kGroup,
     .doc = "Rotation by e[i] about the fixed axis i, then e[j] about j, then e[k] about k."},
    {.name = "quat_to_euler", .sig = "(q: quat<F>, i: i32, j: i32, k: i32) -> vec<3,F>",
     .code = "wt_to_euler<{F}>({&q}, {i}, {j}, {k}, {&r})", .device = "rotation",
     .vjp = "u = vec(q[0], q[1], q[2]); w = q[3]; m = 3 - i - j; s = _parity(u, i, j); o = i == "
            "k; x = _pick(u, i); y = _pick(u, j); z = s * _pick(u, m); a = where(o, w, w - y); b "
            "= where(o, x, x + z); c = where(o, y, y + w); e = where(o, z, z - x); n = a * a + b "
            "* b; f = c * c + e * e; g1 = _pick(d, i); g3 = _pick(d, m); t = where(o, g3, s * "
            "g3); gp = where(n > 0, (g1 + t) / n, 0); gm = where(f > 0, (t - g1) / f, 0); h = 2 * "
            "_pick(d, j) / (n + f); hn = where(n > 0, h * sqrt(f / n), 0); hf = where(f > 0, h * "
            "sqrt(n / f), 0); ga = -gp * b - hn * a; gb = gp * a - hn * b; gc = hf * c - gm * e; "
            "ge = gm * c + hf * e; v = _place(u, where(o, gb, gb - ge), i) + _place(u, where(o, "
            "gc, gc - ga), j) + _place(u, s * where(o, ge, gb + ge), m); q += quat(v[0], v[1], "
            "v[2], where(o, ga, ga + gc))",
     .grad = Grad::kRule, .domain = "q: 0.2..1; i: 0..2; j: 0..2; k: 0..2", .group = kGroup,
     .doc = "Euler angles of a rotation, inverse of quat_from_euler; about two axes, angle 3 - i - "
            "j is the third."},
    {.name = "quat_between_vectors", .sig = "(a: vec<3,F>, b: vec<3,F>) -> quat<F>",
     .code = "wt_between<{F}>({&a}, {&b}, {&r})", .device = "rotation",
     .vjp = "x = length(a); y = length(b); c = cross(a, b); w = x * y + dot(a, b); l = "
            "sqrt(length_sq(c) + w * w); g = where(l > 0.0000001 * x * y, (d - r * dot(r, d)) / l, "
            "0); v = vec(g[0], g[1], g[2]); a += cross(b, v) + g[3] * b + where(x > 0, g[3] * y / "
            "x * a, 0); b += cross(v, a) + g[3] * a + where(y > 0, g[3] * x / y * b, 0)",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Shortest rotation from the direction of a to that of b."},
    {.name = "quat_exp", .sig = "(v: vec<3,F>) -> quat<F>",
     .code = "q := sum(i<3, {v}[i] * {v}[i]); l := {m}sqrt{f}({q}); s := {l} > {F}(1e-2) ? "
             "{m}sin{f}({F}(0.5) * {l}) / {l} : {F}(0.5) - {q} / {F}(48) + {q} * {q} / {F}(3840); "
             "{v}[0] * {s}; {v}[1] * {s}; {v}[2] * {s}; {m}cos{f}({F}(0.5) * {l})",
     .vjp = "q = length_sq(v); l = length(v); u = vec(d[0], d[1], d[2]); big = l > 0.01; n = "
            "where(big, l, 1); s = where(big, sin(0.5 * n) / n, 0.5 - q / 48 + q * q / 3840); k "
            "= where(big, (0.5 * cos(0.5 * n) - s) / (n * n), q / 960 - 1 / 24); v += s * u + "
            "(dot(u, v) * k - 0.5 * d[3] * s) * v",
     .grad = Grad::kRule, .domain = "-2..2", .group = kGroup,
     .doc = "Unit quaternion of a rotation vector: axis times angle."},
    {.name = "quat_log", .sig = "(q: quat<F>) -> vec<3,F>",
     .code = "e := {q}[3] < 0 ? {F}(-1) : {F}(1); l := {m}sqrt{f}(sum(i<3, {q}[i] * {q}[i])); w "
             ":= {q}[3] * {e}; s := {e} * ({l} > {F}(1e-4) * {w} ? 2 * {m}atan2{f}({l}, {w}) / {l} "
             ": 2 / {w} - 2 * {l} * {l} / (3 * {w} * {w} * {w})); [i] {q}[i] * {s}",
     .vjp = "e = where(q[3] < 0, -1, 1); u = vec(q[0], q[1], q[2]); w = q[3] * e; f = "
            "length_sq(u); l = length(u); n = f + w * w; big = l > 0.0001 * w; m = where(big, l, "
            "1); s = where(big, 2 * atan2(m, w) / m, 2 / w - 2 * f / (3 * w * w * w)); k = "
            "where(big, (2 * w / n - s) / (m * m), -4 / (3 * w * w * w)); g = e * (s * d + "
            "dot(d, u) * k * u); q += quat(g[0], g[1], g[2], -2 * dot(d, u) / n)",
     .grad = Grad::kRule, .domain = "0.2..1", .group = kGroup,
     .doc = "Rotation vector, axis times angle, of a unit quaternion; inverse of quat_exp."},
    {.name = "transform_decompose", .sig = "(m: mat<4,4,F>) -> (vec<3,F>, quat<F>, vec<3,F>)",
     .code = "wt_decompose<{F}>({&m}, {&r0}, {&r1}, {&r2})", .device = "decompose",
     .vjp = "s = r2; a = mat(3, m[0, 0] / s[0], m[0, 1] / s[1], m[0, 2] / s[2], m[1, 0] / s[0], "
            "m[1, 1] / s[1], m[1, 2] / s[2], m[2, 0] / s[0], m[2, 1] / s[1], m[2, 2] / s[2]); c = "
            "_quat_case(a); g = (d1 - r1 * dot(r1, d1)) * (where(c == 3, r1[3], where(c == 0, "
            "r1[0], where(c == 1, r1[1], r1[2]))) / where(c == 3, 1 + a[0, 0] + a[1, 1] + a[2, "
            "2], where(c == 0, 1 + a[0, 0] - a[1, 1] - a[2, 2], where(c == 1, 1 - a[0, 0] + a[1, "
            "1] - a[2, 2], 1 - a[0, 0] - a[1, 1] + a[2, 2])))); h = where(c == 3, mat(3, g[3], "
            "-g[2], g[1], g[2], g[3], -g[0], -g[1], g[0], g[3]), where(c == 0, mat(3, g[0], g[1], "
            "g[2], g[1], -g[0], -g[3], g[2], g[3], -g[0]), where(c == 1, mat(3, -g[1], g[0], g[3], "
            "g[0], g[1], g[2], -g[3], g[2], -g[1]), mat(3, -g[2], -g[3], g[0], g[3], -g[2], g[1], "
            "g[0], g[1], g[2])))); t = mul(h, diag(1 / s)); z = d2 - get_diag(mul(transpose(a), "
            "t)); n = t + mul(a, diag(z)); m += mat(4, n[0, 0], n[0, 1], n[0, 2], d0[0], n[1, 0], "
            "n[1, 1], n[1, 2], d0[1], n[2, 0], n[2, 1], n[2, 2], d0[2], 0, 0, 0, 0)",
     .grad = Grad::kRule, .domain = "0.5..1", .group = kTransforms,
     .doc = "Position, rotation and scale of a 4x4 matrix, inverse of transform_compose."},
    {.name = "transform_set_translation_copy", .sig = "(xform: xform<F>, p: vec<3,F>) -> xform<F>",
     .code = "{p}[0]; {p}[1]; {p}[2]; {xform}[3]; {xform}[4]; {xform}[5]; {xform}[6]",
     .vjp = "xform += xform(0, 0, 0, d[3], d[4], d[5], d[6]); p += vec(d[0], d[1], d[2])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kTransforms,
     .doc = "xform with the translation p."},
    {.name = "transform_set_rotation_copy", .sig = "(xform: xform<F>, q: quat<F>) -> xform<F>",
     .code = "{xform}[0]; {xform}[1]; {xform}[2]; {q}[0]; {q}[1]; {q}[2]; {q}[3]",
     .vjp = "xform += xform(d[0], d[1], d[2], 0, 0, 0, 0); q += quat(d[3], d[4], d[5], d[6])",
     .grad = Grad::kRule, .domain = "-1..1", .group = kTransforms,
     .doc = "xform with the rotation q."},
    {.name = "_unit", .sig = "(like: vec<3,F>, i: i32) -> vec<3,F>",
     .code = "{i} == 0 ? {F}(1) : {F}(0); {i} == 1 ? {F}(1) : {F}(0); {i} == 2 ? {F}(1) : {F}(0)",
     .grad = Grad::kZero, .domain = "like: -1..1; i: 0..2", .group = kInternal,
     .doc = "Unit vector of axis i."},
    {.name = "_unit_quat", .sig = "(like: vec<3,F>, i: i32) -> quat<F>",
     .code = "{i} == 0 ? {F}(1) : {F}(0); {i} == 1 ? {F}(1) : {F}(0); {i} == 2 ? {F}(1) : {F}(0); "
             "0",
     .grad = Grad::kZero, .domain = "like: -1..1; i: 0..2", .group = kInternal,
     .doc = "Unit quaternion of axis i."},
    {.name = "_pick", .sig = "(v: vec<3,F>, i: i32) -> F",
     .code = "{i} == 0 ? {v}[0] : {i} == 1 ? {v}[1] : {v}[2]", .vjp = "v += _place(v, d, i)",
     .grad = Grad::kRule, .domain = "v: -1..1; i: 0..2", .group = kInternal,
     .doc = "Component i."},
    {.name = "_place", .sig = "(like: vec<3,F>, x: F, i: i32) -> vec<3,F>",
     .code = "{i} == 0 ? {x} : {F}(0); {i} == 1 ? {x} : {F}(0); {i} == 2 ? {x} : {F}(0)",
     .vjp = "x += _pick(d, i)", .grad = Grad::kRule, .domain = "like: -1..1; x: -1..1; i: 0..2",
     .group = kInternal, .doc = "x in component i, 0 elsewhere."},
    {.name = "_parity", .sig = "(like: vec<3,F>, i: i32, j: i32) -> F",
     .code = "{j} == ({i} + 1) % 3 ? {F}(1) : {F}(-1)", .grad = Grad::kZero,
     .domain = "like: -1..1; i: 0..2; j: 0..2", .group = kInternal,
     .doc = "1 if axis j follows axis i, else -1."},
};
// clang-format on
static_assert(rows_ok(kRows), "a row lacks name, sig, code, grad decision, group or doc");

}  // namespace

std::span<const BuiltinDef> rotation_rows() { return kRows; }

}  // namespace wt::builtins
