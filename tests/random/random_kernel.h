// SPDX-License-Identifier: Apache-2.0
// random_kernel.h: random kernels of every kind of control flow and memory access, to
// differentiate.
#pragma once

#include <string>

namespace wt::test {

/// Text of a kernel @k(x: array<f64,1>, y: array<f64,1>, z: array<f64,2>, loss: array<f64,1>,
/// p: f64, v: vec<3,f64>, n: i32, c: array<i32,1>, w: array<vec<3,f64>,1>, top: array<f64,1>,
/// pairs: array<struct{f64, vec<3,f64>},1>, bundle: struct{q: array<f64,1>, n: i32}). Threads own
/// y[tid], z[tid, 0..3], c[tid], w[tid], pairs[tid] and bundle.q[tid]; x has 5 elements and is read
/// anywhere; loss[0] is added to; top[0..1] only grow. Values stay in [-3, 3]. Each calls three
/// rows of the builtin table, others with the next seed. The same seed gives the same kernel.
std::string random_kernel(unsigned seed);

}  // namespace wt::test
