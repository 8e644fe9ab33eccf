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
  bool deterministic = false;  ///< although neither the kernel nor the process is

  const Form& form() const { return kernel->program().forward(); }
};

/// Tape rows of a form: where each log lies in one block of memory.
struct WT_API RowLayout {
  std::vector<WtArray> rows;  ///< data is the offset until placed
  size_t bytes = 0;
  /// The rows with `base` added.
  std::vector<WtArray> at(char* base) const;
};
WT_API RowLayout tape_layout(const Call& call, const AdjointForm& form);
/// Loop history that an adjoint launch of this shape wants. `values`: it reports values that are
/// not finite, whatever the process's mode.
WT_API RowLayout history_layout(const Call& call, const AdjointForm& form, bool values = false);

/// Most bytes that one adjoint launch may use for loop history (default 256 MB).
WT_API void set_history_budget(size_t bytes);
WT_API size_t history_budget();

WT_API void run_forward(const Call& call);
/// The forward form with value logs in `rows`, or the plain one if `form` has none.
WT_API void run_augmented(const Call& call, const AdjointForm& form, std::span<const WtArray> rows);
/// `adjoints` has for each masked parameter, in order, its adjoint: an array header, or for a
/// struct those of its arrays. `primals`, if not empty, stands in for call.arrays.
struct AdjointRun {
  const Call& call;
  const AdjointForm& form;
  const ad::Mask& mask;
  const std::vector<std::vector<WtArray>>& adjoints;
  std::span<const WtArray> primals;
  std::span<const WtArray> tape;
  std::span<const WtArray> history;
};
WT_API void run_adjoint(const AdjointRun& run);
/// The tangent form; `tangents` as `adjoints` above, for numeric parameters the bytes at `data`.
WT_API void run_tangent(const Call& call, const ad::Mask& mask,
                        const std::vector<std::vector<WtArray>>& tangents);
/// After a launch: its stream uses all arrays, and those that the kernel may change were written.
WT_API void count_writes(const Call& call);
/// Memory for `bytes` on the call's device, as an array of bytes.
WT_API rt::Array byte_array(const Call& call, size_t bytes);

}  // namespace wt::autograd
