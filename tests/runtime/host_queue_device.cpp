// SPDX-License-Identifier: Apache-2.0
// host_queue_device.cpp: queues, fences and planted faults over host memory.
#include "tests/runtime/host_queue_device.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/process.h"

namespace wt::rt::testing {
namespace {

constexpr size_t kFence = 256;
constexpr unsigned char kFenceByte = 0xa5;
constexpr unsigned char kFreshByte = 0xcd;
constexpr unsigned char kFreedByte = 0xdd;
constexpr int64_t kLanes = 3;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

using Kernel = void (*)(const void*, int64_t, int64_t, int64_t);

struct HostEntry : Entry {
  Kernel kernel = nullptr;
};

}  // namespace

class HostQueueEvent : public Event {
 public:
  HostQueueEvent(HostQueueDevice& device, bool timing) : device_(device), timing_(timing) {}
  void record(Stream stream) override { marker_ = device_.mark(stream); }
  bool done() override { return marker_ == nullptr || marker_->done; }
  void synchronize() override {
    if (marker_ != nullptr) device_.reach(marker_);
  }
  void wait(Stream stream) override {
    if (marker_ != nullptr) device_.push(stream, {.run = [] {}, .after = marker_});
  }
  double elapsed_ms(Event& start) override {
    auto* from = dynamic_cast<HostQueueEvent*>(&start);
    if (from == nullptr || !timing_ || !from->timing_ || !done() || !from->done()) {
      throw DeviceError("Event.elapsed_ms: both events must be timed and reached");
    }
    return 1e-6 * static_cast<double>(marker_->at_ns - from->marker_->at_ns);
  }

 private:
  HostQueueDevice& device_;
  bool timing_;
  std::shared_ptr<HostQueueDevice::Marker> marker_;
};

class HostQueueModule : public Executable {
 public:
  HostQueueModule(HostQueueDevice& device, void* handle) : device_(device), handle_(handle) {}
  const Entry* entry(std::string_view name) override {
    const std::lock_guard lock(device_.mutex_);
    HostEntry& entry = entries_[std::string(name)];
    entry.name = std::string(name);
    entry.kernel = reinterpret_cast<Kernel>(dlsym(handle_, entry.name.c_str()));
    if (entry.kernel == nullptr) throw DeviceError(cat("no kernel named ", name));
    return &entry;
  }
  void plan(const Entry*, LaunchShape& shape) override {
    shape.lanes = shape.max_lanes > 0 ? std::min(shape.max_lanes, kLanes) : kLanes;
  }
  void launch(const Entry* entry, const LaunchShape& shape, const void* args, size_t arg_bytes,
              Stream stream) override {
    const std::lock_guard lock(device_.mutex_);
    if (HostQueueDevice::planted(device_.faults.launch)) throw DeviceError("planted launch fault");
    const Kernel kernel = static_cast<const HostEntry*>(entry)->kernel;
    const std::string block(static_cast<const char*>(args), arg_bytes);
    // Backwards and in odd pieces: a kernel must not depend on order or alignment of its range.
    device_.push(stream, {.run =
                              [kernel, block, shape] {
                                int64_t end = shape.total();
                                for (int64_t piece = 0; end > 0; ++piece) {
                                  const int64_t begin = std::max<int64_t>(0, end - 7);
                                  kernel(block.data(), begin, end, piece % shape.lanes);
                                  end = begin;
                                }
                              },
                          .after = nullptr});
  }

 private:
  HostQueueDevice& device_;
  void* handle_;
  std::map<std::string, HostEntry> entries_;
};

HostQueueDevice::HostQueueDevice(size_t capacity, uint64_t seed)
    : capacity_(capacity), random_(seed) {
  properties_.name = "queue";
  properties_.model = "host memory with queues";
  properties_.total_memory = capacity;
  queues_[nullptr];
}

HostQueueDevice::~HostQueueDevice() {
  for (auto& [ptr, bytes] : blocks_) std::free(ptr - kFence);
}

MemoryInfo HostQueueDevice::memory_info() {
  const std::lock_guard lock(mutex_);
  return {.free = capacity_ - live_bytes_, .total = capacity_};
}

void* HostQueueDevice::alloc(size_t bytes, Stream) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0) return nullptr;
  if (planted(faults.alloc) || bytes > capacity_ - live_bytes_) {
    throw OutOfMemoryError(cat("queue: out of memory: could not allocate ", bytes, " bytes"),
                           bytes);
  }
  const size_t size = (bytes + 2 * kFence + kFence - 1) / kFence * kFence;
  char* base = static_cast<char*>(std::aligned_alloc(kFence, size));
  std::memset(base, kFenceByte, size);
  std::memset(base + kFence, kFreshByte, bytes);
  blocks_[base + kFence] = bytes;
  live_bytes_ += bytes;
  return base + kFence;
}

void HostQueueDevice::free(void* ptr, size_t, Stream stream) noexcept {
  if (ptr == nullptr) return;
  const std::lock_guard lock(mutex_);
  push(stream, {.run = [this, ptr] { release(static_cast<char*>(ptr)); }, .after = nullptr});
}

void HostQueueDevice::release(char* ptr) {
  const size_t bytes = blocks_.at(ptr);
  for (size_t i = 0; i < kFence; ++i) {
    if (static_cast<unsigned char>(ptr[-1 - static_cast<ptrdiff_t>(i)]) != kFenceByte ||
        static_cast<unsigned char>(ptr[bytes + i]) != kFenceByte) {
      ++broken_fences_;
      break;
    }
  }
  std::memset(ptr, kFreedByte, bytes);
  blocks_.erase(ptr);
  live_bytes_ -= bytes;
  std::free(ptr - kFence);
}

bool HostQueueDevice::owns(const void* ptr) const {
  auto* p = static_cast<char*>(const_cast<void*>(ptr));
  auto it = blocks_.upper_bound(p);
  if (it == blocks_.begin()) return false;
  --it;
  return p < it->first + it->second;
}

void HostQueueDevice::copy(void* dst, const void* src, size_t bytes, Stream stream) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0) return;
  if (planted(faults.copy)) throw DeviceError("planted copy fault");
  if (owns(src)) {
    push(stream, {.run = [=] { std::memmove(dst, src, bytes); }, .after = nullptr});
    return;
  }
  const std::string taken(static_cast<const char*>(src), bytes);
  push(stream, {.run = [=] { std::memcpy(dst, taken.data(), taken.size()); }, .after = nullptr});
}

void HostQueueDevice::fill(void* dst, const void* pattern, size_t pattern_bytes, size_t count,
                           Stream stream) {
  const std::lock_guard lock(mutex_);
  const std::string taken(static_cast<const char*>(pattern), pattern_bytes);
  push(stream, {.run =
                    [=] {
                      for (size_t i = 0; i < count; ++i) {
                        std::memcpy(static_cast<char*>(dst) + i * taken.size(), taken.data(),
                                    taken.size());
                      }
                    },
                .after = nullptr});
}

Stream HostQueueDevice::create_stream() {
  const std::lock_guard lock(mutex_);
  const Stream stream{.handle = reinterpret_cast<void*>(next_stream_++)};
  queues_[stream.handle];
  return stream;
}

void HostQueueDevice::destroy_stream(Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  drain(stream.handle);
  queues_.erase(stream.handle);
}

std::unique_ptr<Event> HostQueueDevice::create_event(bool timing) {
  return std::make_unique<HostQueueEvent>(*this, timing);
}

void HostQueueDevice::wait(Stream waiter, Stream on) {
  const std::lock_guard lock(mutex_);
  push(waiter, {.run = [] {}, .after = mark(on)});
}

void HostQueueDevice::synchronize(Stream stream) {
  const std::lock_guard lock(mutex_);
  drain(stream.handle);
}

void HostQueueDevice::synchronize() {
  const std::lock_guard lock(mutex_);
  for (auto& [handle, queue] : queues_) drain(handle);
}

std::shared_ptr<HostQueueDevice::Marker> HostQueueDevice::mark(Stream stream) {
  const std::lock_guard lock(mutex_);
  auto marker = std::make_shared<Marker>();
  marker->queue = stream.handle;
  push(stream, {.run =
                    [marker] {
                      marker->done = true;
                      marker->at_ns = now_ns();
                    },
                .after = nullptr});
  return marker;
}

void HostQueueDevice::push(Stream stream, Task task) {
  const std::lock_guard lock(mutex_);
  queues_.at(stream.handle).push_back(std::move(task));
  // Now and then somebody makes a step; most of the time nobody does.
  if (random_() % 4 != 0) return;
  auto it = queues_.begin();
  std::advance(it, static_cast<ptrdiff_t>(random_() % queues_.size()));
  Queue& queue = it->second;
  if (!queue.empty() && (queue.front().after == nullptr || queue.front().after->done)) {
    run_front(it->first);
  }
}

bool HostQueueDevice::run_front(void* handle) {
  Queue& queue = queues_.at(handle);
  if (queue.empty()) return false;
  if (queue.front().after != nullptr) reach(queue.front().after);
  const Task task = std::move(queue.front());
  queue.pop_front();
  task.run();
  return true;
}

void HostQueueDevice::drain(void* handle) {
  while (run_front(handle)) {
  }
}

void HostQueueDevice::reach(const std::shared_ptr<Marker>& marker) {
  const std::lock_guard lock(mutex_);
  while (!marker->done) run_front(marker->queue);
}

std::shared_ptr<Executable> HostQueueDevice::load(const Binary& binary) {
  const std::lock_guard lock(mutex_);
  if (planted(faults.load)) throw DeviceError("planted load fault");
  if (binary.kind != BinaryKind::kSharedObject) {
    throw DeviceError(cat("module ", binary.name, " was compiled for ", binary.arch));
  }
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/module.so";
  const int fd = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && write_all(fd, binary.data);
  if (fd >= 0) close(fd);
  void* handle = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (handle == nullptr) throw DeviceError(cat("module ", binary.name, " does not load"));
  return std::make_shared<HostQueueModule>(*this, handle);
}

}  // namespace wt::rt::testing
