// SPDX-License-Identifier: Apache-2.0
// random_program.h: random kernels that are valid, end, and stay inside their arrays.
#pragma once

#include <cstdint>
#include <memory>

#include "csrc/codegen/ir/ir.h"

namespace wt::ir {

/// kernel @k(%x: f32, %n: i32, %f: array<f32,1>, %i: array<i32,1>, %m: array<f32,2>) with
/// variables, nested loops and branches, a called function, vectors, a struct and a local array.
/// Arrays must have 8 elements (m: 8 x 8); n should be small. The same seed gives the same program.
std::unique_ptr<Module> random_program(uint64_t seed);

}  // namespace wt::ir
