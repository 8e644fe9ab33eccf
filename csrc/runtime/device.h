// SPDX-License-Identifier: Apache-2.0
// device.h: what a device can do. Start here; executable.h says how code runs on one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "csrc/runtime/executable.h"
#include "csrc/runtime/stream.h"

namespace wt::rt {

enum class DeviceKind { kCpu, kCuda };

struct DeviceProperties {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;      ///< Ordinal among devices of this kind.
  std::string name;   ///< "cpu", "cuda:0".
  std::string model;  ///< What the maker calls it.
  std::string arch;   ///< What to compile for: "x86-64", "sm_90".
  int cc_major = 0;   ///< Compute capability; 0 on the CPU.
  int cc_minor = 0;
  std::array<unsigned char, 16> uuid{};
  std::string pci_bus_id;   ///< "0000:1b:00.0", empty on the CPU.
  size_t total_memory = 0;  ///< Bytes.
  int processors = 1;       ///< Multiprocessors, or CPU worker threads.
  int threads_per_processor = 1;
  bool memory_pools = false;  ///< Stream-ordered allocation by the driver.
};

struct MemoryInfo {
  size_t free = 0;
  size_t total = 0;
};

/// One device. All methods may be called from any thread. Work on a Stream runs in order; a
/// method that takes a Stream returns before the work is done, except on the CPU.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceProperties& properties() const = 0;
  virtual MemoryInfo memory_info() = 0;

  /// `bytes` at an alignment of at least 64 (CPU) or 256 (CUDA); bytes == 0 gives null. The memory
  /// may be used on `stream` at once and elsewhere after waiting for it.
  /// Throws OutOfMemoryError, and then nothing has changed.
  virtual void* alloc(size_t bytes, Stream stream) = 0;
  /// Frees after the work that is on `stream` now. Null is allowed.
  virtual void free(void* ptr, size_t bytes, Stream stream) noexcept = 0;

  /// Copies between any two of: this device, another device of its kind, the host. Host memory that
  /// is not page-locked has been read when the call returns.
  virtual void copy(void* dst, const void* src, size_t bytes, Stream stream) = 0;
  /// Writes `count` copies of a pattern of `pattern_bytes` bytes, back to back.
  virtual void fill(void* dst, const void* pattern, size_t pattern_bytes, size_t count,
                    Stream stream) = 0;

  virtual Stream create_stream() = 0;
  virtual void destroy_stream(Stream stream) noexcept = 0;
  virtual std::unique_ptr<Event> create_event(bool timing) = 0;
  /// Later work on `waiter` runs after what is on `on` now. No host synchronisation.
  virtual void wait(Stream waiter, Stream on) = 0;
  virtual void synchronize(Stream stream) = 0;
  virtual void synchronize() = 0;
  /// Whether a graph capture is recording this stream. Then nothing may synchronise or allocate
  /// outside of the stream.
  virtual bool is_capturing(Stream stream) = 0;

  /// Makes a binary of this device's kind callable. Throws DeviceError with the loader's text.
  virtual std::shared_ptr<Executable> load(const Binary& binary) = 0;
};

}  // namespace wt::rt
