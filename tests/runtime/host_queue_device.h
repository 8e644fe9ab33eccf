// SPDX-License-Identifier: Apache-2.0
// host_queue_device.h: a Device over host memory whose streams really are queues. Work is held back
// and run in a random order that streams and events allow, so that a forgotten wait shows. Memory
// is poisoned and fenced; failures can be planted.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include "csrc/runtime/device.h"

namespace wt::rt::testing {

/// Counts down at each call of its kind; the call that reaches 0 fails. Negative: never.
struct PlantedFaults {
  int alloc = -1;
  int copy = -1;
  int load = -1;
  int launch = -1;
};

class HostQueueDevice : public Device {
 public:
  explicit HostQueueDevice(size_t capacity = size_t{64} << 20, uint64_t seed = 1);
  ~HostQueueDevice() override;

  PlantedFaults faults;
  size_t live_bytes() const { return live_bytes_; }
  size_t live_blocks() const { return blocks_.size(); }
  /// Writes outside of a block that were found when it was freed.
  int broken_fences() const { return broken_fences_; }

  const DeviceProperties& properties() const override { return properties_; }
  MemoryInfo memory_info() override;
  void* alloc(size_t bytes, Stream stream) override;
  void free(void* ptr, size_t bytes, Stream stream) noexcept override;
  void copy(void* dst, const void* src, size_t bytes, Stream stream) override;
  void fill(void* dst, const void* pattern, size_t pattern_bytes, size_t count,
            Stream stream) override;
  Stream create_stream() override;
  void destroy_stream(Stream stream) noexcept override;
  std::unique_ptr<Event> create_event(bool timing) override;
  void wait(Stream waiter, Stream on) override;
  void synchronize(Stream stream) override;
  void synchronize() override;
  bool is_capturing(Stream) override { return false; }
  std::shared_ptr<Executable> load(const Binary& binary) override;

 private:
  friend class HostQueueEvent;
  friend class HostQueueModule;
  /// A point in a queue. Done when the queue has passed it.
  struct Marker {
    void* queue = nullptr;
    bool done = false;
    int64_t at_ns = 0;
  };
  struct Task {
    std::function<void()> run;
    std::shared_ptr<Marker> after;  // Must be done first.
  };
  using Queue = std::deque<Task>;

  void push(Stream stream, Task task);
  bool run_front(void* queue);
  void drain(void* queue);
  void reach(const std::shared_ptr<Marker>& marker);
  std::shared_ptr<Marker> mark(Stream stream);
  bool owns(const void* ptr) const;
  void release(char* ptr);
  static bool planted(int& countdown) { return countdown >= 0 && countdown-- == 0; }

  std::recursive_mutex mutex_;
  DeviceProperties properties_;
  size_t capacity_;
  size_t live_bytes_ = 0;
  int broken_fences_ = 0;
  std::mt19937_64 random_;
  std::map<char*, size_t> blocks_;
  std::map<void*, Queue> queues_;
  uintptr_t next_stream_ = 1;
};

}  // namespace wt::rt::testing
