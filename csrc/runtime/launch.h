// SPDX-License-Identifier: Apache-2.0
// launch.h: one prepared kernel: its arguments packed, its shape planned.
#pragma once

#include <array>
#include <cstring>
#include <memory>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/profiler.h"

namespace wt::rt {

/// The argument block of a kernel (codegen/emit/abi.h), of fixed capacity: no allocation.
class ArgBlock {
 public:
  static constexpr size_t kMost = 4096;  ///< What every CUDA driver takes.

  /// `size` bytes in all, WtLaunch included. ArgumentValueError if a kernel has too many.
  explicit ArgBlock(size_t size) : size_(size) {
    if (size > kMost) {
      throw ArgumentValueError(coded("WT719"),
                               cat("a kernel can take ", kMost, " bytes of arguments, got ", size,
                                   ". Pass large structs and matrices in arrays."));
    }
    std::memset(bytes_.data(), 0, size_);
  }
  template <class T>
  void set(size_t offset, const T& value) {
    set_bytes(offset, &value, sizeof value);
  }
  void set_bytes(size_t offset, const void* data, size_t bytes) {
    WT_CHECK(offset + bytes <= size_, "argument at ", offset, " of ", bytes, " bytes in ", size_);
    std::memcpy(bytes_.data() + offset, data, bytes);
  }
  const void* data() const { return bytes_.data(); }
  size_t size() const { return size_; }

 private:
  size_t size_;
  alignas(16) std::array<unsigned char, kMost> bytes_;
};

/// A kernel of a loaded module on its device. Cheap to copy; keeps the module loaded.
struct PreparedKernel {
  Device* device = nullptr;
  std::shared_ptr<Executable> module;
  const Entry* entry = nullptr;

  PreparedKernel() = default;
  PreparedKernel(Device& on, std::shared_ptr<Executable> from, std::string_view name)
      : device(&on), module(std::move(from)), entry(module->entry(name)) {}

  /// Plans and writes the block's header; afterwards shape.lanes says how much scratch is needed.
  void prepare(LaunchShape& shape, ArgBlock& args) const {
    module->plan(entry, shape);
    args.set(0, launch_header(shape));
  }
  /// Runs a prepared launch.
  void launch(const LaunchShape& shape, const ArgBlock& args, Stream stream) const {
    const ProfileScope scope(ProfileKind::kLaunch, entry->name, *device, stream, shape.total());
    module->launch(entry, shape, args.data(), args.size(), stream);
  }
};

}  // namespace wt::rt
