// SPDX-License-Identifier: Apache-2.0
// ordered_sums.h: additions whose sum does not depend on the order of the threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "csrc/codegen/ir/ir.h"

namespace wt::passes {

struct OrderOptions {
  bool adjoint = false;  ///< the kernel is an adjoint: its exchanges take what a store left there
  /// Threads share coordinates (more launch dimensions than the kernel uses, or a batch), so none
  /// has an element to itself.
  bool shared = false;
};

/// An array whose additions go to integers beside it (device/ordered_sum.h), which a launch rounds
/// into it afterwards.
struct OrderedSum {
  size_t param = 0;
  std::string path;  ///< ".a.b" of an array inside a struct parameter
  ir::Scalar scalar = ir::Scalar::kF32;
  size_t into = 0;  ///< its two parameters: array<i64,1> for the sums, i64 for the first address
};

/// Redirects float additions of several threads to one element. Throws KernelError where the
/// kernel's results depend on the order in another way.
std::vector<OrderedSum> order_sums(ir::Func& kernel, const OrderOptions& options);

/// Numbers (i64) that the sum of one float takes.
constexpr int64_t sum_words(ir::Scalar s) { return s == ir::Scalar::kF64 ? 67 : 10; }

/// A kernel of parameters (array<T,1>, array<i64,1>, i64) that rounds sums into floats.
std::unique_ptr<ir::Module> rounding_module(ir::Scalar scalar, const std::string& name);

}  // namespace wt::passes
