// SPDX-License-Identifier: Apache-2.0
// noise.cpp: rows of gradient noise.
#include "csrc/codegen/builtins/tables.h"

namespace wt::builtins {
namespace {

constexpr std::string_view kGroup = "Noise";
/// Rows that only the rules of others use.
constexpr std::string_view kInternal = "Internal";

// One row is a few full lines, not one line a field.
// clang-format off
constexpr BuiltinDef kRows[] = {
    {.name = "noise", .sig = "(state: u32, x: F) -> F",
     .code = "wt_noise_at<{F}, 1>({state}, {&x}, (const i32*)0)", .device = "random noise",
     .vjp = "g = _noise_grad(state, vec(x)); x += d * g[0]", .grad = Grad::kRule,
     .domain = "state: 0..999; x: -3..3", .group = kGroup,
     .doc = "Smooth random function of x, 0 at whole numbers."},
    {.name = "noise", .sig = "(state: u32, xy: vec<2,F>) -> F",
     .code = "wt_noise_at<{F}, 2>({state}, {&xy}, (const i32*)0)", .device = "random noise",
     .vjp = "xy += d * _noise_grad(state, xy)", .grad = Grad::kRule,
     .domain = "state: 0..999; xy: -3..3", .group = kGroup,
     .doc = "Smooth random function of two coordinates, 0 where all are whole numbers."},
    {.name = "noise", .sig = "(state: u32, xyz: vec<3,F>) -> F",
     .code = "wt_noise_at<{F}, 3>({state}, {&xyz}, (const i32*)0)", .device = "random noise",
     .vjp = "xyz += d * _noise_grad(state, xyz)", .grad = Grad::kRule,
     .domain = "state: 0..999; xyz: -3..3", .group = kGroup,
     .doc = "Smooth random function of three coordinates, 0 where all are whole numbers."},
    {.name = "noise", .sig = "(state: u32, xyzt: vec<4,F>) -> F",
     .code = "wt_noise_at<{F}, 4>({state}, {&xyzt}, (const i32*)0)", .device = "random noise",
     .vjp = "xyzt += d * _noise_grad(state, xyzt)", .grad = Grad::kRule,
     .domain = "state: 0..999; xyzt: -3..3", .group = kGroup,
     .doc = "Smooth random function of four coordinates, 0 where all are whole numbers."},
    {.name = "pnoise", .sig = "(state: u32, x: F, px: i32) -> F",
     .code = "p := i32: {px}; wt_noise_at<{F}, 1>({state}, {&x}, &{p})", .device = "random noise",
     .vjp = "g = _noise_grad(state, vec(x), vec(px)); x += d * g[0]", .grad = Grad::kRule,
     .domain = "state: 0..999; x: -3..3; px: 1..4", .group = kGroup,
     .doc = "noise with the period px."},
    {.name = "pnoise", .sig = "(state: u32, xy: vec<2,F>, px: i32, py: i32) -> F",
     .code = "wt_pnoise<{F}, 2>({state}, {&xy}, {px}, {py}, 0, 0)", .device = "random noise pnoise",
     .vjp = "xy += d * _noise_grad(state, xy, vec(px, py))", .grad = Grad::kRule,
     .domain = "state: 0..999; xy: -3..3; px: 1..4; py: 1..4", .group = kGroup,
     .doc = "noise with a period in each coordinate."},
    {.name = "pnoise", .sig = "(state: u32, xyz: vec<3,F>, px: i32, py: i32, pz: i32) -> F",
     .code = "wt_pnoise<{F}, 3>({state}, {&xyz}, {px}, {py}, {pz}, 0)",
     .device = "random noise pnoise",
     .vjp = "xyz += d * _noise_grad(state, xyz, vec(px, py, pz))", .grad = Grad::kRule,
     .domain = "state: 0..999; xyz: -3..3; px: 1..4; py: 1..4; pz: 1..4", .group = kGroup,
     .doc = "noise with a period in each coordinate."},
    {.name = "pnoise",
     .sig = "(state: u32, xyzt: vec<4,F>, px: i32, py: i32, pz: i32, pt: i32) -> F",
     .code = "wt_pnoise<{F}, 4>({state}, {&xyzt}, {px}, {py}, {pz}, {pt})",
     .device = "random noise pnoise",
     .vjp = "xyzt += d * _noise_grad(state, xyzt, vec(px, py, pz, pt))", .grad = Grad::kRule,
     .domain = "state: 0..999; xyzt: -3..3; px: 1..4; py: 1..4; pz: 1..4; pt: 1..4",
     .group = kGroup, .doc = "noise with a period in each coordinate."},
    {.name = "curlnoise",
     .sig = "(state: u32, xy: vec<2,F>, "
            "octaves: u32 = 1, lacunarity: F = 2, gain: F = 0.5) -> vec<2,F>",
     .code = "wt_curl<{F}, 2>({state}, {&xy}, {octaves}, {lacunarity}, {gain}, {&r}, ({F}*)0)",
     .device = "random noise",
     .vjp = "g = mul(d, _curl_jacobian(state, xy, octaves, lacunarity, gain)); xy += vec(g[0], "
            "g[1]); lacunarity += g[2]; gain += g[3]",
     .grad = Grad::kRule,
     .domain = "state: 0..999; xy: -3..3; octaves: 1..3; lacunarity: 1.5..2; gain: 0.3..0.8",
     .group = kGroup,
     .doc = "Field without divergence from the derivatives of noise, summed over octaves: each "
            "lacunarity times finer and gain times as strong."},
    {.name = "curlnoise",
     .sig = "(state: u32, xyz: vec<3,F>, "
            "octaves: u32 = 1, lacunarity: F = 2, gain: F = 0.5) -> vec<3,F>",
     .code = "wt_curl<{F}, 3>({state}, {&xyz}, {octaves}, {lacunarity}, {gain}, {&r}, ({F}*)0)",
     .device = "random noise",
     .vjp = "g = mul(d, _curl_jacobian(state, xyz, octaves, lacunarity, gain)); xyz += vec(g[0], "
            "g[1], g[2]); lacunarity += g[3]; gain += g[4]",
     .grad = Grad::kRule,
     .domain = "state: 0..999; xyz: -3..3; octaves: 1..3; lacunarity: 1.5..2; gain: 0.3..0.8",
     .group = kGroup,
     .doc = "Field without divergence from the derivatives of three noises, summed over octaves: "
            "each lacunarity times finer and gain times as strong."},
    {.name = "curlnoise",
     .sig = "(state: u32, xyzt: vec<4,F>, "
            "octaves: u32 = 1, lacunarity: F = 2, gain: F = 0.5) -> vec<3,F>",
     .code = "wt_curl<{F}, 4>({state}, {&xyzt}, {octaves}, {lacunarity}, {gain}, {&r}, ({F}*)0)",
     .device = "random noise",
     .vjp = "g = mul(d, _curl_jacobian(state, xyzt, octaves, lacunarity, gain)); xyzt += "
            "vec(g[0], g[1], g[2], g[3]); lacunarity += g[4]; gain += g[5]",
     .grad = Grad::kRule,
     .domain = "state: 0..999; xyzt: -3..3; octaves: 1..3; lacunarity: 1.5..2; gain: 0.3..0.8",
     .group = kGroup,
     .doc = "Field without divergence in x, y, z that moves with the time t, summed over "
            "octaves: each lacunarity times finer and gain times as strong."},
    {.name = "_curl_jacobian",
     .sig = "(state: u32, x: vec<2,F>, octaves: u32, lacunarity: F, gain: F) -> mat<2,4,F>",
     .code = "wt_curl<{F}, 2>({state}, {&x}, {octaves}, {lacunarity}, {gain}, "
             "({F}*)0, {&r})",
     .device = "random noise", .grad = Grad::kNone,
     .domain = "state: 0..999; x: -3..3; octaves: 1..3; lacunarity: 1.5..2; gain: 0.3..0.8",
     .group = kInternal, .doc = "Derivatives of curlnoise by x, lacunarity and gain."},
    {.name = "_curl_jacobian",
     .sig = "(state: u32, x: vec<3,F>, octaves: u32, lacunarity: F, gain: F) -> mat<3,5,F>",
     .code = "wt_curl<{F}, 3>({state}, {&x}, {octaves}, {lacunarity}, {gain}, "
             "({F}*)0, {&r})",
     .device = "random noise", .grad = Grad::kNone,
     .domain = "state: 0..999; x: -3..3; octaves: 1..3; lacunarity: 1.5..2; gain: 0.3..0.8",
     .group = kInternal, .doc = "Derivatives of curlnoise by x, lacunarity and gain."},
    {.name = "_curl_jacobian",
     .sig = "(state: u32, x: vec<4,F>, octaves: u32, lacunarity: F, gain: F) -> mat<3,6,F>",
     .code = "wt_curl<{F}, 4>({state}, {&x}, {octaves}, {lacunarity}, {gain}, "
             "({F}*)0, {&r})",
     .device = "random noise", .grad = Grad::kNone,
     .domain = "state: 0..999; x: -3..3; octaves: 1..3; lacunarity: 1.5..2; gain: 0.3..0.8",
     .group = kInternal, .doc = "Derivatives of curlnoise by x, lacunarity and gain."},
    {.name = "_noise_grad", .sig = "(state: u32, x: vec<N,F>) -> vec<N,F>",
     .code = "wt_noise<{F}, {N}>({state}, {&x}, (const i32*)0, {&r}, ({F}*)0)",
     .device = "random noise", .vjp = "x += mul(_noise_hess(state, x), d)", .grad = Grad::kRule,
     .domain = "state: 0..999; x: -3..3", .group = kInternal, .doc = "Gradient of noise."},
    {.name = "_noise_grad", .sig = "(state: u32, x: vec<N,F>, period: vec<N,i32>) -> vec<N,F>",
     .code = "wt_noise<{F}, {N}>({state}, {&x}, {&period}, {&r}, ({F}*)0)",
     .device = "random noise", .vjp = "x += mul(_noise_hess(state, x, period), d)",
     .grad = Grad::kRule, .domain = "state: 0..999; x: -3..3; period: 1..4", .group = kInternal,
     .doc = "Gradient of pnoise."},
    {.name = "_noise_hess", .sig = "(state: u32, x: vec<N,F>) -> mat<N,N,F>",
     .code = "wt_noise<{F}, {N}>({state}, {&x}, (const i32*)0, ({F}*)0, {&r})",
     .device = "random noise", .grad = Grad::kNone, .domain = "state: 0..999; x: -3..3",
     .group = kInternal, .doc = "Second derivatives of noise."},
    {.name = "_noise_hess", .sig = "(state: u32, x: vec<N,F>, period: vec<N,i32>) -> mat<N,N,F>",
     .code = "wt_noise<{F}, {N}>({state}, {&x}, {&period}, ({F}*)0, {&r})",
     .device = "random noise", .grad = Grad::kNone,
     .domain = "state: 0..999; x: -3..3; period: 1..4", .group = kInternal,
     .doc = "Second derivatives of pnoise."},
};
// clang-format on
static_assert(rows_ok(kRows), "a row lacks name, sig, code, grad decision, group or doc");

}  // namespace

std::span<const BuiltinDef> noise_rows() { return kRows; }

}  // namespace wt::builtins
