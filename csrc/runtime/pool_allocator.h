// SPDX-License-Identifier: Apache-2.0
// pool_allocator.h: keeps memory of a device and hands it out by stream.
//
// Memory comes in segments. A segment is a list of blocks that are split on alloc and merged with
// their free neighbours again. Where the source has address ranges, the large blocks of a stream
// share one segment that grows at its end, so that a long run cannot fragment over segments.
//
// A free block belongs to the stream that last owned it: that stream may have it at once, because
// its own work is in order. Another stream may have it when an event
// that was recorded after the free has passed. Blocks that a caller used on further streams
// (use_on) stay out of reach until the events of those streams have passed. Blocks that were
// allocated while a graph was captured are used again only inside that capture, since the graph
// will touch them at every replay.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "csrc/runtime/allocator.h"
#include "csrc/runtime/memory_source.h"

namespace wt::rt {

class PoolAllocator : public Allocator {
 public:
  explicit PoolAllocator(std::unique_ptr<MemorySource> source);
  ~PoolAllocator() override;
  PoolAllocator(const PoolAllocator&) = delete;
  PoolAllocator& operator=(const PoolAllocator&) = delete;

  void* alloc(size_t bytes, Stream stream) override;
  void free(void* ptr) noexcept override;
  void use_on(void* ptr, Stream stream) override;
  AllocatorStats stats() const override;
  void reset_peaks() override;
  size_t trim() override;
  void release_capture(uint64_t capture) override;

  /// Called when the device is out of memory, with the bytes that are missing; returns whether it
  /// has freed some (another allocator's cache, say). Runs without the pool's lock.
  void on_out_of_memory(std::function<bool(size_t)> callback);

  /// Size of the block for a request.
  static size_t rounded(size_t bytes);

 private:
  struct Arena;
  struct Block;
  /// A segment that grows at its end.
  struct Range {
    std::unique_ptr<MemoryRange> memory;
    Block* last = nullptr;
  };
  struct Block {
    char* ptr = nullptr;
    size_t size = 0;
    size_t requested = 0;
    Arena* arena = nullptr;
    Range* range = nullptr;   // Null in a segment of fixed size.
    bool in_use = false;      // Handed out, or waiting for events.
    Block* before = nullptr;  // Neighbours in the segment.
    Block* after = nullptr;
    std::vector<Stream> used_on;
    std::shared_ptr<Event> idle;  // Free: recorded on the arena's stream after the free.
    bool whole() const { return before == nullptr && after == nullptr; }
  };
  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      return a->size != b->size ? a->size < b->size : a->ptr < b->ptr;
    }
  };
  /// The free blocks of one stream (inside one capture, if any), of small or large segments.
  struct Arena {
    Stream stream;
    uint64_t capture = 0;
    bool small = true;
    std::set<Block*, BySize> free;
    Range range;  // Where blocks come from, if the source has ranges.
  };
  using ArenaKey = std::tuple<void*, uint64_t, bool>;
  /// A freed block that streams may still use.
  struct Pending {
    Block* block;
    std::vector<std::unique_ptr<Event>> events;
    std::vector<Stream> unrecorded;  // Captured at the time of the free.
  };

  Arena& arena(Stream stream, uint64_t capture, bool small);
  Block* find(Arena& arena, size_t size);
  Block* borrow(Arena& to, size_t size, bool device_waits);
  Block* take_from(Arena& from, Arena& to, size_t size, bool device_waits);
  Block* grow(Arena& to, size_t size, std::unique_lock<std::mutex>& lock);
  Block* new_memory(Arena& to, size_t size, size_t bytes);
  bool reserve_range_once(Arena& to);
  Block* extend(Arena& to, size_t size);
  bool has_range(const Arena& a) const { return range_step_ != 0 && !a.small && a.capture == 0; }
  size_t shrink(Range& range);
  void drop_last(Range& range);
  Block* adopt(void* memory, size_t bytes, Arena& to);
  void count_reserved(int64_t bytes);
  void* hand_out(Block* block, size_t size, size_t requested);
  void put_back(Block* block);
  Block* merge(Block* left, Block* right);
  void move_to(Block* block, Arena& to);
  void count_split(const Block* block, int sign);
  void record_uses(Pending& pending);
  bool passed(Pending& pending);
  void poll_pending();
  static bool unused_segment(const Block* head);
  size_t release_free_segments();
  [[noreturn]] void out_of_memory(size_t bytes);

  std::unique_ptr<MemorySource> source_;
  size_t range_step_;  // 0 without ranges.
  mutable std::mutex mutex_;
  AllocatorStats stats_;
  std::map<ArenaKey, std::unique_ptr<Arena>> arenas_;
  std::unordered_map<void*, Block*> handed_out_;
  std::set<Block*> all_;
  std::deque<Pending> pending_;
  std::function<bool(size_t)> callback_;
};

}  // namespace wt::rt
