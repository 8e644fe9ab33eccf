// SPDX-License-Identifier: Apache-2.0
// random_kernel.h: random kernels of every kind of control flow and memory access.
#pragma once

#include <string>

namespace wt::test {

/// Text of a kernel @k(x: array<f64,1>, y: array<f64,1>, z: array<f64,2>, loss: array<f64,1>,
/// p: f64, v: vec<3,f64>, n: i32). Threads own y[tid] and z[tid, 0..3]; x has 5 elements and is
/// read anywhere; loss[0] is added to. Values stay in [-3, 3]. The same seed gives the same kernel.
std::string random_kernel(unsigned seed);

}  // namespace wt::test
