// SPDX-License-Identifier: Apache-2.0
// sampling.cpp: rows of random points and of other distributions, made of uniform numbers in a
// fixed order.
#include "csrc/codegen/builtins/tables.h"

namespace wt::builtins {
namespace {

constexpr std::string_view kGroup = "Random numbers";

// One row is a few full lines, not one line a field.
// clang-format off
constexpr BuiltinDef kRows[] = {
    {.name = "poisson", .sig = "(state: inout u32, lam: f32) -> u32",
     .code = "{r1} = {state}; {r0} = wt_poisson(&{r1}, {lam})", .device = "random sampling",
     .grad = Grad::kZero, .domain = "state: 0..999; lam: 0.5..30", .group = kGroup,
     .doc = "Random number of events of a Poisson process with the mean lam; moves the state on."},
    {.name = "sample_cdf", .sig = "(state: inout u32, cdf: array<f32,1>) -> i32",
     .code = "s := u32: wt_pcg({state}); wt_lower_bound<wt_read_f32>({cdf}[0], {cdf}[1], 0, "
             "{cdf}[2], wt_unit({s})); {s}",
     .device = "narrow random search", .grad = Grad::kZero, .group = kGroup,
     .doc = "Random index with the probabilities whose running sums are cdf; moves the state on."},
    {.name = "sample_triangle", .sig = "(state: inout u32) -> vec<2,f32>",
     .code = "s := u32: wt_pcg({state}); t := u32: wt_pcg({s}); q := f32: "
             "wt_sqrt_unit(wt_unit({s})); 1.0f - {q}; wt_unit({t}) * {q}; {t}",
     .device = "random sampling", .grad = Grad::kZero, .domain = "0..999", .group = kGroup,
     .doc = "First two barycentric coordinates of a uniform random point of a triangle."},
    {.name = "sample_unit_ring", .sig = "(state: inout u32) -> vec<2,f32>",
     .code = "s := u32: wt_pcg({state}); wt_cos_turn(wt_unit({s})); wt_sin_turn(wt_unit({s})); {s}",
     .device = "random sampling", .grad = Grad::kZero, .domain = "0..999", .group = kGroup,
     .doc = "Uniform random point of the unit circle."},
    {.name = "sample_unit_disk", .sig = "(state: inout u32) -> vec<2,f32>",
     .code = "s := u32: wt_pcg({state}); t := u32: wt_pcg({s}); q := f32: "
             "wt_sqrt_unit(wt_unit({s})); {q} * wt_cos_turn(wt_unit({t})); {q} * "
             "wt_sin_turn(wt_unit({t})); {t}",
     .device = "random sampling", .grad = Grad::kZero, .domain = "0..999", .group = kGroup,
     .doc = "Uniform random point of the unit disk."},
    {.name = "sample_unit_sphere_surface", .sig = "(state: inout u32) -> vec<3,f32>",
     .code = "s := u32: wt_pcg({state}); t := u32: wt_pcg({s}); z := f32: 1.0f - 2.0f * "
             "wt_unit({s}); q := f32: wt_cosine_side({z}); {q} * wt_cos_turn(wt_unit({t})); {q} * "
             "wt_sin_turn(wt_unit({t})); {z}; {t}",
     .device = "random sampling", .grad = Grad::kZero, .domain = "0..999", .group = kGroup,
     .doc = "Uniform random point of the unit sphere's surface."},
    {.name = "sample_unit_sphere", .sig = "(state: inout u32) -> vec<3,f32>",
     .code = "s := u32: wt_pcg({state}); t := u32: wt_pcg({s}); v := u32: wt_pcg({t}); l := f32: "
             "wt_cbrt_unit(wt_unit({v})); z := f32: 1.0f - 2.0f * wt_unit({s}); q := f32: {l} * "
             "wt_cosine_side({z}); {q} * wt_cos_turn(wt_unit({t})); {q} * "
             "wt_sin_turn(wt_unit({t})); {l} * {z}; {v}",
     .device = "random sampling", .grad = Grad::kZero, .domain = "0..999", .group = kGroup,
     .doc = "Uniform random point of the unit ball."},
    {.name = "sample_unit_hemisphere_surface", .sig = "(state: inout u32) -> vec<3,f32>",
     .code = "s := u32: wt_pcg({state}); t := u32: wt_pcg({s}); z := f32: 1.0f - wt_unit({s}); q "
             ":= f32: wt_cosine_side({z}); {q} * wt_cos_turn(wt_unit({t})); {q} * "
             "wt_sin_turn(wt_unit({t})); {z}; {t}",
     .device = "random sampling", .grad = Grad::kZero, .domain = "0..999", .group = kGroup,
     .doc = "Uniform random point of the upper half of the unit sphere's surface."},
    {.name = "sample_unit_hemisphere", .sig = "(state: inout u32) -> vec<3,f32>",
     .code = "s := u32: wt_pcg({state}); t := u32: wt_pcg({s}); v := u32: wt_pcg({t}); l := f32: "
             "wt_cbrt_unit(wt_unit({v})); z := f32: 1.0f - wt_unit({s}); q := f32: {l} * "
             "wt_cosine_side({z}); {q} * wt_cos_turn(wt_unit({t})); {q} * "
             "wt_sin_turn(wt_unit({t})); {l} * {z}; {v}",
     .device = "random sampling", .grad = Grad::kZero, .domain = "0..999", .group = kGroup,
     .doc = "Uniform random point of the upper half of the unit ball."},
    {.name = "sample_unit_square", .sig = "(state: inout u32) -> vec<2,f32>",
     .code = "s := u32: wt_pcg({state}); t := u32: wt_pcg({s}); wt_unit({s}) - 0.5f; wt_unit({t}) "
             "- 0.5f; {t}",
     .device = "random", .grad = Grad::kZero, .domain = "0..999", .group = kGroup,
     .doc = "Uniform random point of the square of side 1 around 0."},
    {.name = "sample_unit_cube", .sig = "(state: inout u32) -> vec<3,f32>",
     .code = "s := u32: wt_pcg({state}); t := u32: wt_pcg({s}); v := u32: wt_pcg({t}); "
             "wt_unit({s}) - 0.5f; wt_unit({t}) - 0.5f; wt_unit({v}) - 0.5f; {v}",
     .device = "random", .grad = Grad::kZero, .domain = "0..999", .group = kGroup,
     .doc = "Uniform random point of the cube of side 1 around 0."},
};
// clang-format on
static_assert(rows_ok(kRows), "a row lacks name, sig, code, grad decision, group or doc");

}  // namespace

std::span<const BuiltinDef> sampling_rows() { return kRows; }

}  // namespace wt::builtins
