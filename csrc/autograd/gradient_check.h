// SPDX-License-Identifier: Apache-2.0
// gradient_check.h: config.check_grad: compares the adjoint of a recorded launch with finite
// differences of the launch itself, on a sample of elements.
//
// With L = sum over written arrays of <cotangent, value after the launch>, the adjoint launch adds
// dL/dx to the gradient of an array that is only read, and leaves dL/dx in that of one that is
// written. The launch is run again on copies of all its arrays as they were before it, with one
// number moved up and down. Where a function has a kink, or is bent within the step, both one-sided
// quotients are taken into account: the derivative has to lie between them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "csrc/autograd/call.h"
#include "csrc/codegen/ir/ir.h"
#include "csrc/codegen/support/api.h"

namespace wt::autograd {

/// Whether launches that are recorded from now on are compared.
WT_API void set_gradient_checks(bool on);
WT_API bool gradient_checks();

/// The first line of the kernel that reads the array parameter, or writes it; where the kernel
/// starts if none does.
WT_API Loc line_of(const ir::Func& kernel, int param);

/// The memory of a launch's arrays as it was before the launch.
class LaunchImage {
 public:
  explicit LaunchImage(const Call& call);

  struct Block {
    std::shared_ptr<rt::Storage> storage;
    rt::Array copy;  ///< its bytes
  };
  std::span<const Block> blocks() const { return blocks_; }

 private:
  std::vector<Block> blocks_;
};

/// One comparison: made before the adjoint launch, finish() after it.
class GradientCheck {
 public:
  /// `step` says which entry of the tape it is, for messages.
  GradientCheck(const Call& call, const ad::Mask& mask, const LaunchImage& image, size_t step);
  ~GradientCheck();
  GradientCheck(const GradientCheck&) = delete;
  GradientCheck& operator=(const GradientCheck&) = delete;

  /// Throws GradientError: WT310 where the two differ, WT311 where a gradient is not finite.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wt::autograd
