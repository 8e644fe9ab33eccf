// SPDX-License-Identifier: Apache-2.0
// fake_memory.h: a MemorySource over host addresses with streams that advance by a clock.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/memory_source.h"

namespace wt::rt::testing {

/// Streams as counters: `issued` pieces of work, of which `completed` are over. A stream cannot
/// complete work that waits for another stream's unfinished work.
class FakeClock {
 public:
  struct Point {
    void* stream = nullptr;
    int64_t at = 0;
  };

  Point issue(Stream s) { return {s.handle, ++state(s).issued}; }
  Point now(Stream s) { return {s.handle, state(s).issued}; }
  bool over(const Point& p) { return states_[p.stream].completed >= p.at; }

  /// Work issued on `s` from now on comes after `p`.
  void wait(Stream s, const Point& p) { state(s).waits.emplace(state(s).issued, p); }

  /// Whether work issued on `s` now is certain to come after `p`.
  bool ordered(Stream s, const Point& p) {
    if (over(p) || (s.handle == p.stream)) return true;
    std::set<void*> seen;
    return reaches(s.handle, state(s).issued, p, seen);
  }

  /// Completes up to `steps` pieces of work, as far as waits allow.
  void advance(Stream s, int64_t steps) {
    State& st = state(s);
    for (; steps > 0 && st.completed < st.issued; --steps) {
      for (const auto& [at, point] : st.waits) {
        if (at <= st.completed && !over(point)) return;
      }
      ++st.completed;
    }
  }
  void finish() {
    for (auto& [handle, st] : states_) st.completed = st.issued;
  }

 private:
  struct State {
    int64_t issued = 0;
    int64_t completed = 0;
    std::multimap<int64_t, Point> waits;  // After `first` pieces of work.
  };
  State& state(Stream s) { return states_[s.handle]; }
  bool reaches(void* stream, int64_t before, const Point& p, std::set<void*>& seen) {
    if (stream == p.stream) return before >= p.at;
    if (!seen.insert(stream).second) return false;
    for (const auto& [at, point] : states_[stream].waits) {
      if (at <= before && reaches(point.stream, point.at, p, seen)) return true;
    }
    seen.erase(stream);
    return false;
  }

  std::map<void*, State> states_;
};

class FakeEvent : public Event {
 public:
  explicit FakeEvent(FakeClock& clock) : clock_(clock) {}
  void record(Stream stream) override { point_ = clock_.now(stream); }
  bool done() override { return clock_.over(point_); }
  void synchronize() override { clock_.finish(); }
  void wait(Stream stream) override { clock_.wait(stream, point_); }
  double elapsed_ms(Event&) override { return 0; }

 private:
  FakeClock& clock_;
  FakeClock::Point point_;
};

/// What is left behind when the pool that owns the source is gone.
struct FakeMemoryState {
  FakeClock clock;
  size_t capacity = SIZE_MAX;
  std::map<char*, size_t> segments;
  std::map<void*, uint64_t> captures;  // Stream to capture.
  int synchronizations = 0;
  int fail_next_reserves = 0;
  size_t range_step = 0;
  char* next = reinterpret_cast<char*>(uintptr_t{1} << 40);

  size_t reserved() const {
    size_t sum = 0;
    for (const auto& [ptr, bytes] : segments) sum += bytes;
    return sum;
  }
};

/// A range of addresses that counts as one segment.
class FakeRange : public MemoryRange {
 public:
  explicit FakeRange(std::shared_ptr<FakeMemoryState> state)
      : state_(std::move(state)), begin_(state_->next) {
    state_->next += uintptr_t{1} << 36;
  }
  ~FakeRange() override { shrink(0); }
  char* begin() const override { return begin_; }
  size_t mapped() const override { return mapped_; }
  void map(size_t bytes) override {
    if (bytes % state_->range_step != 0) std::abort();
    if (bytes > state_->capacity - state_->reserved()) throw OutOfMemoryError("full", bytes);
    mapped_ += bytes;
    pieces_.push_back(bytes);
    state_->segments[begin_] = mapped_;
  }
  void shrink(size_t keep) noexcept override {
    while (!pieces_.empty() && mapped_ - pieces_.back() >= keep) {
      mapped_ -= pieces_.back();
      pieces_.pop_back();
      state_->clock.finish();
    }
    state_->segments[begin_] = mapped_;
    if (mapped_ == 0) state_->segments.erase(begin_);
  }

 private:
  std::shared_ptr<FakeMemoryState> state_;
  char* begin_;
  size_t mapped_ = 0;
  std::vector<size_t> pieces_;
};

/// Addresses only: nothing is ever read or written behind them.
class FakeMemory : public MemorySource {
 public:
  explicit FakeMemory(std::shared_ptr<FakeMemoryState> state) : state_(std::move(state)) {}
  std::string name() const override { return "fake"; }
  void* reserve(size_t bytes) override {
    if (state_->fail_next_reserves > 0) {
      --state_->fail_next_reserves;
      throw OutOfMemoryError("planted", bytes);
    }
    if (bytes > state_->capacity - state_->reserved()) throw OutOfMemoryError("full", bytes);
    char* ptr = state_->next;
    state_->next += bytes + 4096;
    state_->segments[ptr] = bytes;
    return ptr;
  }
  void release(void* ptr, size_t bytes) noexcept override {
    const auto it = state_->segments.find(static_cast<char*>(ptr));
    if (it == state_->segments.end() || it->second != bytes) std::abort();
    state_->segments.erase(it);
    state_->clock.finish();
  }
  std::unique_ptr<Event> create_event() override {
    return std::make_unique<FakeEvent>(state_->clock);
  }
  uint64_t capture_id(Stream stream) override {
    const auto it = state_->captures.find(stream.handle);
    return it == state_->captures.end() ? 0 : it->second;
  }
  void synchronize() override {
    ++state_->synchronizations;
    state_->clock.finish();
  }
  size_t range_step() override { return state_->range_step; }
  std::unique_ptr<MemoryRange> reserve_range() override {
    return std::make_unique<FakeRange>(state_);
  }

 private:
  std::shared_ptr<FakeMemoryState> state_;
};

}  // namespace wt::rt::testing
