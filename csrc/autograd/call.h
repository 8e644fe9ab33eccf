// SPDX-License-Identifier: Apache-2.0
// call.h: one launch with its arguments in place, and how its forms are run.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "csrc/codegen/support/api.h"
#include "csrc/runtime/array.h"
#include "csrc/runtime/kernel.h"

namespace wt::autograd {

/// An array argument, or an array inside a struct argument.
struct BoundArray {
  int param = 0;      ///< which parameter
  size_t offset = 0;  ///< of its WtArray in the block
  rt::Array array;
};

/// Everything that a launch of a kernel's forward form needs. The block follows that form's layout;
/// its WtLaunch head is filled in by the run functions.
struct Call {
  std::shared_ptr<rt::Kernel> kernel;
  rt::Device* device = nullptr;
  rt::Stream stream;
  rt::LaunchShape shape;
  std::vector<char> block;
  std::vector<BoundArray> arrays;

  const Form& form() const { return kernel->program().forward(); }
};

/// What the augmented forward saved for the adjoint: one allocation, one row array a slot.
struct TapeMemory {
  rt::Array bytes;
  std::vector<WtArray> rows;
  size_t size() const { return bytes.defined() ? bytes.storage->bytes : 0; }
};

/// A parameter's adjoint: one array for an array parameter and for a numeric one; the arrays inside
/// in order for a struct.
using AdjointArgs = std::vector<std::vector<rt::Array>>;

/// Most bytes that one adjoint launch may use for loop history (default 256 MB).
WT_API void set_history_budget(size_t bytes);
WT_API size_t history_budget();

WT_API void run_forward(const Call& call);
/// The forward form with value logs, or the plain one if `form` has none.
WT_API TapeMemory run_augmented(const Call& call, const AdjointForm& form);
/// `adjoints` is indexed by parameter (empty where the mask is off). `primals`, if not empty, stands
/// in for call.arrays. Returns the bytes of history scratch used.
WT_API size_t run_adjoint(const Call& call, const AdjointForm& form, const ad::Mask& mask,
                          const AdjointArgs& adjoints, std::span<const rt::Array> primals,
                          const TapeMemory& tape);
/// The tangent form; `tangents` as `adjoints` above, numeric parameters as arrays on the host.
WT_API void run_tangent(const Call& call, const ad::Mask& mask, const AdjointArgs& tangents);

}  // namespace wt::autograd
