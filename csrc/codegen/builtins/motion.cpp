// SPDX-License-Identifier: Apache-2.0
// motion.cpp: rows of exponential and logarithm maps of rotations and rigid motions, with their
// Jacobians; made of the functions cos(t), sin(t) / t, (1 - cos(t)) / t^2, ... of x = t^2, which
// are smooth at 0, so that there are no special cases for small angles.
#include "csrc/codegen/builtins/tables.h"

namespace wt::builtins {
namespace {

constexpr std::string_view kGroup = "Rotations and rigid motions";
/// Rows that only others use.
constexpr std::string_view kInternal = "Internal";

// clang-format off
constexpr BuiltinDef kRows[] = {
    {.name = "rotation_exp", .sig = "(v: vec<3,F>) -> mat<3,3,F>",
     .expand = "x = length_sq(v); k = skew(v); mat(3, 1, 0, 0, 0, 1, 0, 0, 0, 1) + "
               "_stumpff(x, 1) * k + _stumpff(x, 2) * mul(k, k)",
     .grad = Grad::kRule, .domain = "-2..2", .group = kGroup,
     .doc = "Rotation matrix of a rotation vector, axis times angle."},
    {.name = "rotation_log", .sig = "(m: mat<3,3,F>) -> vec<3,F>",
     .expand = "quat_log(quat_from_matrix(m))", .grad = Grad::kRule, .domain = "-1..1",
     .group = kGroup, .doc = "Rotation vector of a rotation matrix; inverse of rotation_exp."},
    {.name = "rotation_jacobian", .sig = "(v: vec<3,F>) -> mat<3,3,F>",
     .expand = "x = length_sq(v); k = skew(v); mat(3, 1, 0, 0, 0, 1, 0, 0, 0, 1) + "
               "_stumpff(x, 2) * k + _stumpff(x, 3) * mul(k, k)",
     .grad = Grad::kRule, .domain = "-2..2", .group = kGroup,
     .doc = "Left Jacobian J of a rotation vector: rotation_exp(v + e) is "
            "rotation_exp(J e) rotation_exp(v) for small e. That of -v is the right one."},
    {.name = "rotation_jacobian_inverse", .sig = "(v: vec<3,F>) -> mat<3,3,F>",
     .expand = "x = length_sq(v); k = skew(v); mat(3, 1, 0, 0, 0, 1, 0, 0, 0, 1) - 0.5 * k + "
               "(_stumpff(x, 3) - 2 * _stumpff(x, 4)) / (2 * _stumpff(x, 2)) * mul(k, k)",
     .grad = Grad::kRule, .domain = "-2..2", .group = kGroup,
     .doc = "Inverse of rotation_jacobian; not finite at a turn of 2 pi."},
    {.name = "transform_exp", .sig = "(s: vec<6,F>) -> xform<F>",
     .expand = "w = vec(s[0], s[1], s[2]); v = vec(s[3], s[4], s[5]); "
               "transformation(mul(rotation_jacobian(w), v), quat_exp(w))",
     .grad = Grad::kRule, .domain = "-2..2", .group = kGroup,
     .doc = "Rigid motion of a twist (angular, linear) held for a unit of time."},
    {.name = "transform_log", .sig = "(t: xform<F>) -> vec<6,F>",
     .expand = "w = quat_log(transform_get_rotation(t)); "
               "spatial_vector(w, mul(rotation_jacobian_inverse(w), transform_get_translation(t)))",
     .grad = Grad::kRule, .domain = "0.2..1", .group = kGroup,
     .doc = "Twist of a rigid motion; inverse of transform_exp."},
    {.name = "_stumpff", .sig = "(x: F, k: F) -> F", .code = "wt_stumpff<{F}>({x}, i32({k}))",
     .device = "stumpff",
     .vjp = "x += 0.5 * d * (k * _stumpff(x, k + 2) - _stumpff(x, k + 1))", .grad = Grad::kRule,
     .domain = "x: 0..6; k: 2..2", .group = kInternal,
     .doc = "Sum over n of (-x)^n / (2n + k)!."},
    {.name = "_arc_sq", .sig = "(c: F) -> F", .code = "wt_arc_sq<{F}>({c})", .device = "stumpff",
     .vjp = "c += -2 * d / _stumpff(r, 1)", .grad = Grad::kRule, .domain = "0.1..0.99",
     .group = kInternal, .doc = "Square of acos(c), 0 beyond 1; smooth at 1."},
};
// clang-format on
static_assert(rows_ok(kRows), "a row lacks name, sig, code, grad decision, group or doc");

}  // namespace

std::span<const BuiltinDef> motion_rows() { return kRows; }

}  // namespace wt::builtins
