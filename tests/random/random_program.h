// SPDX-License-Identifier: Apache-2.0
// random_program.h: random kernels that are valid, end, and stay inside their arrays.
#pragma once

#include <cstdint>
#include <memory>

#include "csrc/codegen/ir/ir.h"

namespace wt::ir {

/// kernel @k(%x: F, %n: i32, %f: array<F,1>, %i: array<i32,1>, %m: array<F,2>, %g: array<F,1>,
/// %t: array<f32,1>) with variables, nested loops and branches, a called function, vectors, a
/// struct, a local array, histories and four builtin rows, others with the next seed. F is f32 for
/// half of the seeds, else f64, f16 or bf16. Arrays must have 8 elements (m: 8 x 8), f and g may be
/// the same memory, t is sorted; n should be small. Every eighth seed prints. The same seed gives
/// the same program.
std::unique_ptr<Module> random_program(uint64_t seed);

}  // namespace wt::ir
