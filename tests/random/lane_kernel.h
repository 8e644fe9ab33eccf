// SPDX-License-Identifier: Apache-2.0
// lane_kernel.h: random kernels that the CPU text computes on vectors of threads.
#pragma once

#include <cstdint>
#include <memory>

#include "csrc/codegen/ir/ir.h"

namespace wt::test {

/// kernel @k(%x: array<F,1>, %z: array<vec<3,F>,1>, %y: array<F,2>, %sum: array<F,1>, %s: F,
/// %n: i32) where control flow and integers do not depend on the thread. Threads own their elements
/// of x, z and y[.., tid] (4 rows); sum[0] is added to. F is f32 or f64.
std::unique_ptr<ir::Module> lane_kernel(uint64_t seed);

}  // namespace wt::test
