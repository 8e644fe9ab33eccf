// SPDX-License-Identifier: Apache-2.0
// memory_source.h: where a pool gets its memory and its events from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "csrc/runtime/device.h"

namespace wt::rt {

/// A range of addresses with memory behind its first part. Gives everything back at the end.
class MemoryRange {
 public:
  virtual ~MemoryRange() = default;
  virtual char* begin() const = 0;
  /// Bytes with memory behind them.
  virtual size_t mapped() const = 0;
  /// Puts memory behind the next `bytes`. Throws OutOfMemoryError.
  virtual void map(size_t bytes) = 0;
  /// Gives memory back from the end on, as far down as `keep` bytes allow; waits for work that
  /// still uses it.
  virtual void shrink(size_t keep) noexcept = 0;
};

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  virtual std::string name() const = 0;
  /// Memory that any stream may use at once. Throws OutOfMemoryError.
  virtual void* reserve(size_t bytes) = 0;
  /// Gives it back; waits for work that still uses it.
  virtual void release(void* ptr, size_t bytes) noexcept = 0;
  virtual std::unique_ptr<Event> create_event() = 0;
  /// Which graph capture records `stream`; 0 for none.
  virtual uint64_t capture_id(Stream stream) = 0;
  /// Waits for all work of the device. Not called while the calling stream is captured.
  virtual void synchronize() = 0;

  // Address ranges that memory is mapped into piece by piece, so that free neighbours always merge.

  /// Sizes that map() takes are multiples of this; 0: this source has no ranges.
  virtual size_t range_step() { return 0; }
  /// Addresses without memory, for all that the device has.
  virtual std::unique_ptr<MemoryRange> reserve_range() { return nullptr; }
};

/// The source for a device: cuMemAlloc on CUDA (also inside captures), the C library on the CPU.
std::unique_ptr<MemorySource> memory_source_of(Device& device);

}  // namespace wt::rt
