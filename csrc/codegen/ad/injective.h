// SPDX-License-Identifier: Apache-2.0
// injective.h: which arrays are touched, element by element, by one thread alone.
#pragma once

#include <vector>

#include "csrc/codegen/ad/array_roots.h"
#include "csrc/codegen/ir/ir.h"

namespace wt::ad {

/// Largest thread coordinate the kernel uses, plus one; 0 if it uses none.
int thread_dims(const ir::Func& f);

/// Proven for the set of all accesses of an array, views included: every one has exactly the bare
/// thread coordinates 0..thread_dims-1 as indices, one after the other from the same position on
/// (first, or behind an index over time). Holds for launches whose further
/// dimensions are 1 and arrays whose elements do not overlap; the launch checks those.
class Injective {
 public:
  Injective(const ir::Func& f, const ArrayRoots& roots);
  /// Of the array that `v` is a view of.
  bool of(const ir::Value* v) const;

 private:
  const ArrayRoots& roots_;
  std::vector<bool> injective_;  // per root
};

}  // namespace wt::ad
