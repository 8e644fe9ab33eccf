// SPDX-License-Identifier: Apache-2.0
// profiler.cpp: buffers of records, one per thread, and their delivery.
#include "csrc/runtime/profiler.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "csrc/codegen/support/error.h"

namespace wt::rt {

namespace detail {
std::atomic<bool> g_profiling{false};
}

namespace {

constexpr size_t kBatch = 1024;

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

/// A record whose device time may still be running.
struct Timed {
  ProfileRecord record;
  std::unique_ptr<Event> begin;
  std::unique_ptr<Event> end;
};

struct Buffer {
  std::mutex mutex;
  std::vector<Timed> entries;
};

struct State {
  std::mutex mutex;  // Guards `buffers` and `profiler`.
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::shared_ptr<Profiler> profiler;
  std::mutex delivery;  // Held while the profiler takes records.
};

State& state() {
  static auto* s = new State;  // Never destroyed: threads may end after static objects.
  return *s;
}

Buffer& buffer_of_thread() {
  thread_local const std::shared_ptr<Buffer> buffer = [] {
    auto made = std::make_shared<Buffer>();
    const std::lock_guard lock(state().mutex);
    state().buffers.push_back(made);
    return made;
  }();
  return *buffer;
}

/// Gives the entries to the profiler.
void deliver(std::vector<Timed> entries) {
  std::shared_ptr<Profiler> profiler;
  {
    const std::lock_guard lock(state().mutex);
    profiler = state().profiler;
  }
  if (profiler == nullptr || entries.empty()) return;
  std::vector<ProfileRecord> records;
  records.reserve(entries.size());
  for (Timed& e : entries) {
    if (e.end != nullptr) {
      try {
        e.end->synchronize();
        e.record.device_ms = e.end->elapsed_ms(*e.begin);
      } catch (const Error&) {
        e.record.device_ms = -1;  // The device failed; the host times still tell something.
      }
    }
    records.push_back(std::move(e.record));
  }
  const std::lock_guard lock(state().delivery);
  profiler->take(records);
}

std::vector<Timed> drain(Buffer& buffer) {
  const std::lock_guard lock(buffer.mutex);
  return std::exchange(buffer.entries, {});
}

void deliver_all() {
  std::vector<std::shared_ptr<Buffer>> buffers;
  {
    const std::lock_guard lock(state().mutex);
    buffers = state().buffers;
  }
  for (const auto& buffer : buffers) deliver(drain(*buffer));
  // Threads that have ended leave the list with their last records delivered.
  buffers.clear();
  const std::lock_guard lock(state().mutex);
  std::erase_if(state().buffers,
                [](const auto& b) { return b.use_count() == 1 && b->entries.empty(); });
}

}  // namespace

struct ProfileScope::Open {
  Timed entry;
  Stream stream;
};

void ProfileScope::begin(ProfileKind kind, std::string_view name, Device* device, Stream stream,
                         int64_t threads) {
  auto open = std::make_unique<Open>();
  ProfileRecord& r = open->entry.record;
  r.kind = kind;
  r.name = std::string(name);
  r.thread = static_cast<uint64_t>(syscall(SYS_gettid));
  r.threads = threads;
  open->stream = stream;
  if (device != nullptr) {
    r.device = device->properties().name;
    r.stream = reinterpret_cast<uintptr_t>(stream.handle);
    // The CPU's work is done when the call returns: the host times are its times.
    const bool measured =
        device->properties().kind != DeviceKind::kCpu && !device->is_capturing(stream);
    if (measured) {
      open->entry.begin = device->create_event(true);
      open->entry.end = device->create_event(true);
      open->entry.begin->record(stream);
    }
  }
  r.begin_ns = now_ns();
  open_ = open.release();
}

void ProfileScope::end() noexcept {
  const std::unique_ptr<Open> open(open_);
  try {
    open->entry.record.end_ns = now_ns();
    if (open->entry.end != nullptr) open->entry.end->record(open->stream);
    Buffer& buffer = buffer_of_thread();
    std::vector<Timed> full;
    {
      const std::lock_guard lock(buffer.mutex);
      buffer.entries.push_back(std::move(open->entry));
      if (buffer.entries.size() >= kBatch) full.swap(buffer.entries);
    }
    deliver(std::move(full));
  } catch (const std::exception&) {
    // A scope also ends while an exception of the profiled work passes; that one is the news.
  }
}

void flush_profiler() {
  deliver_all();
  std::shared_ptr<Profiler> profiler;
  {
    const std::lock_guard lock(state().mutex);
    profiler = state().profiler;
  }
  if (profiler == nullptr) return;
  const std::lock_guard lock(state().delivery);
  profiler->flush();
}

void set_profiler(std::shared_ptr<Profiler> profiler) {
  detail::g_profiling.store(false);
  flush_profiler();
  const std::lock_guard lock(state().mutex);
  state().profiler = std::move(profiler);
  detail::g_profiling.store(state().profiler != nullptr);
}

}  // namespace wt::rt
