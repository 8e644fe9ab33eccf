// SPDX-License-Identifier: Apache-2.0
// random.cpp: rows of random numbers: counter-based, with the same bits on every device.
#include "csrc/codegen/builtins/tables.h"

namespace wt::builtins {
namespace {

constexpr std::string_view kGroup = "Random numbers";

// One row is a few full lines, not one line a field.
// clang-format off
constexpr BuiltinDef kRows[] = {
    {.name = "rand_init", .sig = "(seed: i32) -> u32", .code = "wt_pcg(u32({seed}))",
     .device = "random", .grad = Grad::kZero, .domain = "0..99", .group = kGroup,
     .doc = "Random state of a seed."},
    {.name = "rand_init", .sig = "(seed: i32, offset: i32) -> u32",
     .code = "wt_pcg(u32({seed}) + wt_pcg(u32({offset})))", .device = "random",
     .grad = Grad::kZero, .domain = "0..99", .group = kGroup,
     .doc = "Random state of a seed and an offset, such as the thread."},
    {.name = "randi", .sig = "(state: inout u32) -> i32",
     .code = "s := u32: wt_pcg({state}); i32({s}); {s}", .device = "random", .grad = Grad::kZero,
     .domain = "0..999", .group = kGroup,
     .doc = "Uniform random integer of all 32 bits; moves the state on."},
    {.name = "randi", .sig = "(state: inout u32, low: i32, high: i32) -> i32",
     .code = "s := u32: wt_pcg({state}); i32(wt_in_range({s}, u32({low}), u32({high}))); {s}",
     .device = "random", .grad = Grad::kZero, .domain = "state: 0..999; low: -5..0; high: 1..9",
     .group = kGroup, .doc = "Uniform random integer in [low, high), low if they are equal; moves the state on."},
    {.name = "randu", .sig = "(state: inout u32) -> u32",
     .code = "s := u32: wt_pcg({state}); {s}; {s}", .device = "random", .grad = Grad::kZero,
     .domain = "0..999", .group = kGroup,
     .doc = "Uniform random unsigned integer of 32 bits; moves the state on."},
    {.name = "randu", .sig = "(state: inout u32, low: u32, high: u32) -> u32",
     .code = "s := u32: wt_pcg({state}); wt_in_range({s}, {low}, {high}); {s}", .device = "random",
     .grad = Grad::kZero, .domain = "state: 0..999; low: 0..3; high: 5..9", .group = kGroup,
     .doc = "Uniform random unsigned integer in [low, high); moves the state on."},
    {.name = "randf", .sig = "(state: inout u32) -> f32",
     .code = "s := u32: wt_pcg({state}); wt_unit({s}); {s}", .device = "random",
     .grad = Grad::kZero, .domain = "0..999", .group = kGroup,
     .doc = "Uniform random number in [0, 1), a multiple of 2^-24; moves the state on."},
    {.name = "randf", .sig = "(state: inout u32, low: f32, high: f32) -> f32",
     .code = "s := u32: wt_pcg({state}); {low} + ({high} - {low}) * wt_unit({s}); {s}",
     .device = "random", .vjp = "u = randf(state); low += d * (1 - u); high += d * u",
     .grad = Grad::kRule, .domain = "state: 0..999; low: -2..0; high: 1..2", .group = kGroup,
     .doc = "Uniform random number in [low, high); moves the state on."},
    {.name = "randn", .sig = "(state: inout u32) -> f32",
     .code = "s := u32: wt_pcg({state}); t := u32: wt_pcg({s}); wt_normal(wt_unit({s}), "
             "wt_unit({t})); {t}",
     .device = "random", .grad = Grad::kZero, .domain = "0..999", .group = kGroup,
     .doc = "Normal random number of mean 0 and variance 1; moves the state on twice."},
};
// clang-format on
static_assert(rows_ok(kRows), "a row lacks name, sig, code, grad decision, group or doc");

}  // namespace

std::span<const BuiltinDef> random_rows() { return kRows; }

}  // namespace wt::builtins
