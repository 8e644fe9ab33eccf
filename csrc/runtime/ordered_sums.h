// SPDX-License-Identifier: Apache-2.0
// ordered_sums.h: launches in deterministic mode: memory for sums before, rounding after.
#pragma once

#include <vector>

#include "csrc/codegen/emit/target.h"
#include "csrc/codegen/passes/ordered_sums.h"
#include "csrc/runtime/device.h"

namespace wt::rt {

struct LoadedForm;

/// The ordered sums of one loaded form.
class OrderedSums {
 public:
  /// `block` is the layout that callers fill, `full` the one with the parameters of `sums`.
  OrderedSums(const ir::Func& kernel, ArgLayout block, ArgLayout full,
              std::vector<passes::OrderedSum> sums, Device& device);

  /// Launches the form with zeroed sums from the pool, and rounds these into their arrays, all on
  /// `stream`.
  void launch(const LoadedForm& code, const LaunchShape& shape, const void* block,
              Stream stream) const;

 private:
  struct Target {
    size_t at;    ///< of its WtArray in the block
    size_t item;  ///< bytes of an element
    size_t sums, first;
    ir::Scalar scalar;
  };

  std::vector<Target> targets_;
  size_t given_ = 0, size_ = 0;  ///< bytes of the callers' block and of the full one
  Device& device_;
};

}  // namespace wt::rt
