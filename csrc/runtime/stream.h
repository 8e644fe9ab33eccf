// SPDX-License-Identifier: Apache-2.0
// stream.h: streams and events. A stream is the driver's own handle, so PyTorch's is used as is.
#pragma once

#include <cstdint>
#include <functional>

namespace wt::rt {

/// An in-order queue of a device. Null is the device's default stream (the legacy stream of CUDA).
/// The CPU has one queue, the calling thread, and ignores the handle.
struct Stream {
  void* handle = nullptr;
  bool operator==(const Stream&) const = default;
};

/// A point in a stream's work. Destroying an event is always safe, also before it is reached.
class Event {
 public:
  virtual ~Event() = default;
  /// Moves the event to the end of what is on `stream` now.
  virtual void record(Stream stream) = 0;
  /// Whether the work before the event is done. Never blocks. True before the first record().
  virtual bool done() = 0;
  /// Blocks until done().
  virtual void synchronize() = 0;
  /// Later work on `stream` runs after this event. No host synchronisation.
  virtual void wait(Stream stream) = 0;
  /// Milliseconds from `start` to this event; both created with timing and reached.
  virtual double elapsed_ms(Event& start) = 0;
};

}  // namespace wt::rt

template <>
struct std::hash<wt::rt::Stream> {
  size_t operator()(const wt::rt::Stream& s) const noexcept { return std::hash<void*>()(s.handle); }
};
