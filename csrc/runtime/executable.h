// SPDX-License-Identifier: Apache-2.0
// executable.h: compiled code and how it is launched. The argument block is codegen/emit/abi.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "csrc/codegen/emit/abi.h"
#include "csrc/runtime/stream.h"

namespace wt::rt {

enum class BinaryKind { kSharedObject, kCubin, kPtx };

/// What a target's compiler made. `name` is for messages and profiles.
struct Binary {
  BinaryKind kind = BinaryKind::kSharedObject;
  std::string name{};
  std::string arch{};  ///< "sm_90", "compute_80", "x86-64-v3"; what it needs to run.
  std::string data{};
};

/// One kernel of an Executable. Owned by it; only devices look inside.
struct Entry {
  std::string name{};
};

/// The range of a launch. `size` threads for each of `batch` hidden batch entries. Fill in dim and
/// batch, then let Executable::plan() choose the rest.
struct LaunchShape {
  int64_t dim[4] = {1, 1, 1, 1};
  int64_t batch = 1;
  int32_t block = 0;         ///< Threads of a block, 0 = chosen by plan(). Ignored by the CPU.
  int32_t shared_bytes = 0;  ///< Dynamic shared memory of a block. Ignored by the CPU.
  int64_t max_lanes = 0;     ///< Upper bound for lanes (a scratch budget); 0 = none.
  int64_t lanes = 0;         ///< Set by plan(): threads in flight.

  int64_t size() const { return dim[0] * dim[1] * dim[2] * dim[3]; }
  int64_t total() const { return size() * batch; }
};

/// The first member of the argument block for a planned shape.
inline WtLaunch launch_header(const LaunchShape& shape) {
  return {.dim = {shape.dim[0], shape.dim[1], shape.dim[2], shape.dim[3]},
          .size = shape.size(),
          .batch = shape.batch,
          .lanes = shape.lanes};
}

/// Loaded code. Thread-safe. It must outlive the work that it launched.
class Executable {
 public:
  virtual ~Executable() = default;
  /// The kernel of that name; resolve once and keep the pointer. DeviceError if there is none.
  virtual const Entry* entry(std::string_view name) = 0;
  /// Chooses `block` and `lanes`. Cheap: no driver call after the first plan of an entry.
  virtual void plan(const Entry* entry, LaunchShape& shape) = 0;
  /// Runs a planned shape on `stream`. `args` starts with launch_header(shape) and may be reused
  /// when the call returns. A total of 0 does nothing. No allocation, no lock, no look-up.
  virtual void launch(const Entry* entry, const LaunchShape& shape, const void* args,
                      size_t arg_bytes, Stream stream) = 0;
};

}  // namespace wt::rt
