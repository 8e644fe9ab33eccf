// SPDX-License-Identifier: Apache-2.0
// cpu_device.cpp: memory, copies and events of the CPU device.
#include "csrc/runtime/cpu_device.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"
#include "csrc/runtime/host_compiler.h"
#include "csrc/runtime/host_fill.h"
#include "csrc/runtime/shared_object.h"
#include "csrc/runtime/thread_pool.h"

namespace wt::rt {
namespace {

constexpr size_t kAlignment = 64;  // A cache line, and the widest vector.

class CpuEvent : public Event {
 public:
  explicit CpuEvent(bool timing) : timing_(timing) {}
  void record(Stream) override {
    clock_gettime(CLOCK_MONOTONIC, &time_);
    recorded_ = true;
  }
  bool done() override { return true; }
  void synchronize() override {}
  void wait(Stream) override {}
  double elapsed_ms(Event& start) override {
    auto* from = dynamic_cast<CpuEvent*>(&start);
    if (from == nullptr || !from->timing_ || !timing_ || !from->recorded_ || !recorded_) {
      throw DeviceError(
          coded("WT704"),
          "Event.elapsed_ms: both events must be of the CPU, made with timing=True and recorded");
    }
    return 1e3 * static_cast<double>(time_.tv_sec - from->time_.tv_sec) +
           1e-6 * static_cast<double>(time_.tv_nsec - from->time_.tv_nsec);
  }

 private:
  bool timing_;
  bool recorded_ = false;
  timespec time_{};
};

size_t pages(int name) {
  const long count = sysconf(name);
  const long size = sysconf(_SC_PAGESIZE);
  return count > 0 && size > 0 ? static_cast<size_t>(count) * static_cast<size_t>(size) : 0;
}

class CpuDevice : public Device {
 public:
  CpuDevice() {
    properties_.name = "cpu";
    properties_.model = "CPU";
    properties_.arch = std::string(host_arch());
    properties_.total_memory = pages(_SC_PHYS_PAGES);
    properties_.processors = thread_count();
  }
  const DeviceProperties& properties() const override { return properties_; }
  MemoryInfo memory_info() override {
    return {.free = pages(_SC_AVPHYS_PAGES), .total = properties_.total_memory};
  }

  void* alloc(size_t bytes, Stream) override {
    if (bytes == 0) return nullptr;
    void* ptr = nullptr;
    if (bytes > PTRDIFF_MAX || posix_memalign(&ptr, kAlignment, bytes) != 0) {
      throw OutOfMemoryError(cat("cpu: out of memory: could not allocate ", bytes, " bytes; ",
                                 memory_info().free, " bytes are free"),
                             bytes);
    }
    return ptr;
  }
  void free(void* ptr, size_t, Stream) noexcept override { std::free(ptr); }

  void copy(void* dst, const void* src, size_t bytes, Stream) override {
    if (bytes > 0) std::memmove(dst, src, bytes);
  }
  void fill(void* dst, const void* pattern, size_t pattern_bytes, size_t count, Stream) override {
    fill_host(dst, pattern, pattern_bytes, count);
  }

  Stream create_stream() override { return {}; }
  void destroy_stream(Stream) noexcept override {}
  std::unique_ptr<Event> create_event(bool timing) override {
    return std::make_unique<CpuEvent>(timing);
  }
  void wait(Stream, Stream) override {}
  void synchronize(Stream) override {}
  void synchronize() override {}
  bool is_capturing(Stream) override { return false; }
  std::shared_ptr<Executable> load(const Binary& binary) override {
    return load_shared_object(binary);
  }

 private:
  DeviceProperties properties_;
};

}  // namespace

void fill_host(void* dst, const void* pattern, size_t pattern_bytes, size_t count) {
  if (count == 0 || pattern_bytes == 0) return;
  auto* out = static_cast<char*>(dst);
  const auto* in = static_cast<const unsigned char*>(pattern);
  if (std::all_of(in, in + pattern_bytes, [&](unsigned char c) { return c == in[0]; })) {
    std::memset(out, in[0], pattern_bytes * count);
    return;
  }
  std::memcpy(out, pattern, pattern_bytes);
  const size_t total = pattern_bytes * count;
  // Doubling what is written, but in pieces that stay in the cache.
  for (size_t done = pattern_bytes; done < total;) {
    const size_t piece =
        std::min({done, total - done,
                  std::max<size_t>(pattern_bytes, 1 << 18) / pattern_bytes * pattern_bytes});
    std::memcpy(out + done, out, piece);
    done += piece;
  }
}

Device& cpu_device() {
  static auto* device = new CpuDevice;
  return *device;
}

}  // namespace wt::rt
