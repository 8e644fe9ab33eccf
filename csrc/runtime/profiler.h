// SPDX-License-Identifier: Apache-2.0
// profiler.h: what happened and when, in batches off the launch path.
//
// Places that can be profiled hold a ProfileScope. Without a profiler that is one branch. With one,
// a record is appended to a buffer of the thread; full buffers and flush_profiler() hand them to
// the profiler. Device times come from events that are read at the flush, so nothing waits earlier.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "csrc/codegen/support/api.h"
#include "csrc/runtime/device.h"

namespace wt::rt {

enum class ProfileKind { kLaunch, kCopy, kFill, kCompile, kLoad, kPass, kTape, kUser };

struct ProfileRecord {
  ProfileKind kind = ProfileKind::kUser;
  std::string name;
  std::string device;     ///< "cpu", "cuda:0"; empty for host work.
  uint64_t stream = 0;    ///< The handle's value.
  uint64_t thread = 0;    ///< The system's id of the thread.
  int64_t begin_ns = 0;   ///< Host, monotonic clock.
  int64_t end_ns = 0;     ///< Host: when the call returned.
  double device_ms = -1;  ///< Time on the device; negative if it was not measured.
  int64_t threads = 0;    ///< Of a launch: size * batch.
};

class Profiler {
 public:
  virtual ~Profiler() = default;
  /// Takes records in the order of their end on each thread. May be called from any thread, but not
  /// from two at once.
  virtual void take(std::span<const ProfileRecord> records) = 0;
  /// Everything has been taken: write it out.
  virtual void flush() = 0;
};

/// Installs `profiler` for the process (null removes it) after flushing the one before.
WT_API void set_profiler(std::shared_ptr<Profiler> profiler);
/// Hands all records of all threads to the profiler and flushes it. Waits for measured events.
WT_API void flush_profiler();

namespace detail {
extern std::atomic<bool> g_profiling;
}

inline bool profiling() { return detail::g_profiling.load(std::memory_order_relaxed); }

/// A stretch of work. `name` must outlive the scope.
class ProfileScope {
 public:
  ProfileScope(ProfileKind kind, std::string_view name) {
    if (profiling()) [[unlikely]]
      begin(kind, name, nullptr, {}, 0);
  }
  /// Work on a stream; on a GPU its device time is measured, except inside a graph capture.
  ProfileScope(ProfileKind kind, std::string_view name, Device& device, Stream stream,
               int64_t threads = 0) {
    if (profiling()) [[unlikely]]
      begin(kind, name, &device, stream, threads);
  }
  ~ProfileScope() {
    if (open_ != nullptr) [[unlikely]]
      end();
  }
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  struct Open;
  void begin(ProfileKind kind, std::string_view name, Device* device, Stream stream,
             int64_t threads);
  void end() noexcept;
  Open* open_ = nullptr;
};

/// Writes a trace in Chrome's JSON format (chrome://tracing, Perfetto) at each flush.
std::shared_ptr<Profiler> make_trace_profiler(std::string path);
/// The JSON text of such a trace.
std::string trace_json(std::span<const ProfileRecord> records);
/// "launch", "copy", ...
WT_API std::string_view to_string(ProfileKind kind);

}  // namespace wt::rt
