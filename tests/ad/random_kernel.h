// SPDX-License-Identifier: Apache-2.0
// random_kernel.h: random kernels of every kind of control flow and memory access.
#pragma once

#include <string>

namespace wt::test {

/// Text of a kernel @k(x: array<f64,1>, y: array<f64,1>, z: array<f64,2>, loss: array<f64,1>,
/// p: f64, v: vec<3,f64>, n: i32, c: array<i32,1>). Threads own
/// y[tid], z[tid, 0..3] and c[tid]; x has 5 elements and is read anywhere; loss[0] is added to.
/// Values stay in [-3, 3]. The same seed gives the same kernel.
std::string random_kernel(unsigned seed);

/// What a kernel's text has of what is hard.
struct RandomFeatures {
  bool nested_data_dependent = false;  ///< a while, or a branch on floats, inside a loop
  bool changes_in_place = false;       ///< an array is stored to and loaded from
  bool uses_old_values = false;        ///< of an atomic
};
RandomFeatures features_of(const std::string& text);

}  // namespace wt::test
