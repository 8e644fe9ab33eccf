// SPDX-License-Identifier: Apache-2.0
// allocator.h: stream-aware allocation, stackable. pool_allocator.h is the one at the bottom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "csrc/runtime/device.h"

namespace wt::rt {

/// Numbers in the sense of torch.cuda.memory_stats().
struct AllocatorStats {
  struct Counter {
    int64_t current = 0;
    int64_t peak = 0;
    int64_t allocated = 0;  ///< Sum of all increases.
    int64_t freed = 0;      ///< Sum of all decreases.

    void add(int64_t amount) {
      current += amount;
      if (amount > 0) allocated += amount;
      if (amount < 0) freed -= amount;
      if (current > peak) peak = current;
    }
    bool operator==(const Counter&) const = default;
  };
  Counter allocation;            ///< Blocks that callers hold.
  Counter allocated_bytes;       ///< Their sizes, rounded up as handed out.
  Counter requested_bytes;       ///< Their sizes as asked for.
  Counter active_bytes;          ///< allocated_bytes and freed blocks that a stream may still use.
  Counter segment;               ///< Pieces of memory taken from the device.
  Counter reserved_bytes;        ///< Their sizes.
  Counter inactive_split_bytes;  ///< Free parts of segments that are partly in use.
  int64_t num_alloc_retries = 0;
  int64_t num_ooms = 0;
  int64_t num_device_alloc = 0;
  int64_t num_device_free = 0;
};

/// Thread-safe.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// Memory that may be used at once on `stream`, and elsewhere after waiting for it. 0 bytes give
  /// null. Throws OutOfMemoryError, and then nothing has changed.
  virtual void* alloc(size_t bytes, Stream stream) = 0;
  /// Ends the caller's use. The memory is used again only when no stream can still read it.
  virtual void free(void* ptr) noexcept = 0;
  /// Says that work on another stream than that of alloc() uses the memory.
  virtual void use_on(void* ptr, Stream stream) = 0;
  virtual AllocatorStats stats() const = 0;
  /// Peaks restart from the current values.
  virtual void reset_peaks() = 0;
  /// Gives unused memory back to the device; returns how many bytes. May wait for the device.
  virtual size_t trim() = 0;
  /// A graph capture is over and its graph destroyed: its memory serves everybody again.
  virtual void release_capture(uint64_t capture) = 0;
};

/// Passes everything on; the base of the adaptors below.
class AllocatorAdaptor : public Allocator {
 public:
  explicit AllocatorAdaptor(std::shared_ptr<Allocator> inner) : inner_(std::move(inner)) {}
  void* alloc(size_t bytes, Stream stream) override { return inner_->alloc(bytes, stream); }
  void free(void* ptr) noexcept override { inner_->free(ptr); }
  void use_on(void* ptr, Stream stream) override { inner_->use_on(ptr, stream); }
  AllocatorStats stats() const override { return inner_->stats(); }
  void reset_peaks() override { inner_->reset_peaks(); }
  size_t trim() override { return inner_->trim(); }
  void release_capture(uint64_t capture) override { inner_->release_capture(capture); }

 private:
  std::shared_ptr<Allocator> inner_;
};

/// Refuses to have more than `limit` requested bytes allocated at once.
class LimitAllocator : public AllocatorAdaptor {
 public:
  LimitAllocator(std::shared_ptr<Allocator> inner, size_t limit)
      : AllocatorAdaptor(std::move(inner)), limit_(limit) {}
  void* alloc(size_t bytes, Stream stream) override;
  void free(void* ptr) noexcept override;
  size_t used() const;

 private:
  size_t limit_;
  mutable std::mutex mutex_;
  size_t used_ = 0;
  std::unordered_map<void*, size_t> sizes_;
};

/// Calls `log` after every alloc (with its bytes) and before every free (with 0 bytes).
class LogAllocator : public AllocatorAdaptor {
 public:
  struct Record {
    void* ptr;
    size_t bytes;
    Stream stream;
  };
  LogAllocator(std::shared_ptr<Allocator> inner, std::function<void(const Record&)> log)
      : AllocatorAdaptor(std::move(inner)), log_(std::move(log)) {}
  void* alloc(size_t bytes, Stream stream) override;
  void free(void* ptr) noexcept override;

 private:
  std::function<void(const Record&)> log_;
};

/// Fails the allocations that `fails` picks by their number, counted from 0. For tests.
class FaultAllocator : public AllocatorAdaptor {
 public:
  FaultAllocator(std::shared_ptr<Allocator> inner, std::function<bool(int64_t)> fails)
      : AllocatorAdaptor(std::move(inner)), fails_(std::move(fails)) {}
  void* alloc(size_t bytes, Stream stream) override;

 private:
  std::function<bool(int64_t)> fails_;
  std::mutex mutex_;
  int64_t count_ = 0;
};

/// The allocator that arrays of a device use: at first a PoolAllocator of its own.
std::shared_ptr<Allocator> allocator_of(Device& device);
/// Replaces it. Arrays that exist keep the one that they came from.
void set_allocator(Device& device, std::shared_ptr<Allocator> allocator);

}  // namespace wt::rt
