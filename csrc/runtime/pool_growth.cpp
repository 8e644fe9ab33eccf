// SPDX-License-Identifier: Apache-2.0
// pool_growth.cpp: how PoolAllocator takes memory from the device and gives it back.
#include <algorithm>
#include <iterator>
#include <utility>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/pool_allocator.h"
#include "csrc/runtime/pool_sizes.h"

namespace wt::rt {
namespace {

size_t segment_size(size_t block) {
  if (block <= kLargestSmall) return kSmallSegment;
  if (block < kOwnSegment) return kLargeSegment;
  return round_up(block, kSegmentStep);
}

}  // namespace

/// New memory, by all means, in the order of their cost.
PoolAllocator::Block* PoolAllocator::grow(Arena& to, size_t size,
                                          std::unique_lock<std::mutex>& lock) {
  const size_t bytes = segment_size(size);
  if (Block* block = new_memory(to, size, bytes)) return block;
  ++stats_.num_alloc_retries;
  if (Block* block = borrow(to, size, /*device_waits=*/true)) return block;
  if (to.capture == 0) {
    release_free_segments();
    if (Block* block = new_memory(to, size, bytes)) return block;
  }
  if (callback_) {
    const auto callback = callback_;
    lock.unlock();
    const bool freed = callback(bytes);
    lock.lock();
    // Without the lock, another thread may have freed what is wanted.
    if (Block* block = find(to, size)) return block;
    if (Block* block = freed ? new_memory(to, size, bytes) : nullptr) return block;
  }
  // A segment of exactly the block may fit where a roomy one did not.
  if (bytes != size) {
    if (Block* block = new_memory(to, size, size)) return block;
  }
  if (to.capture != 0 || pending_.empty()) return nullptr;
  source_->synchronize();
  poll_pending();
  if (Block* block = find(to, size)) return block;
  release_free_segments();
  return new_memory(to, size, bytes);
}

/// A free block of at least `size` in memory that the device gives now: `bytes` of it, or as much
/// as the arena's range lacks. Null if the device has no more.
PoolAllocator::Block* PoolAllocator::new_memory(Arena& to, size_t size, size_t bytes) {
  try {
    if (has_range(to) && reserve_range_once(to)) return extend(to, size);
    void* memory = source_->reserve(bytes);
    stats_.segment.add(1);
    count_reserved(static_cast<int64_t>(bytes));
    return adopt(memory, bytes, to);
  } catch (const OutOfMemoryError&) {
    return nullptr;
  }
}

/// False, and never again tried, if addresses are as scarce as memory (ulimit -v).
bool PoolAllocator::reserve_range_once(Arena& to) {
  if (to.range.memory != nullptr) return true;
  try {
    to.range.memory = source_->reserve_range();
  } catch (const Error&) {
    range_step_ = 0;
  }
  return to.range.memory != nullptr;
}

void PoolAllocator::count_reserved(int64_t bytes) {
  ++(bytes > 0 ? stats_.num_device_alloc : stats_.num_device_free);
  stats_.reserved_bytes.add(bytes);
}

/// Lets the arena's range grow until its last block is free and of at least `size`.
PoolAllocator::Block* PoolAllocator::extend(Arena& to, size_t size) {
  Range& range = to.range;
  Block* tail = range.last;
  const bool usable = tail != nullptr && !tail->in_use && tail->arena == &to;
  const size_t have = usable ? tail->size : 0;
  WT_CHECK(have < size, "a range grows while its last block would do");
  const size_t least = round_up(size - have, range_step_);
  const size_t before = range.memory->mapped();
  try {
    // Small steps would cost a mapping each.
    range.memory->map(std::max(least, round_up(kLargeSegment, range_step_)));
  } catch (const OutOfMemoryError&) {
    range.memory->map(least);
  }
  const size_t bytes = range.memory->mapped() - before;
  if (tail == nullptr) stats_.segment.add(1);
  count_reserved(static_cast<int64_t>(bytes));
  if (usable) {
    count_split(tail, -1);
    to.free.erase(tail);
    tail->size += bytes;
    tail->idle = nullptr;
    to.free.insert(tail);
    count_split(tail, +1);
    return tail;
  }
  Block* block = adopt(range.memory->begin() + before, bytes, to);
  if (tail != nullptr && !tail->in_use) count_split(tail, -1);
  block->range = &range;
  block->before = tail;
  if (tail != nullptr) {
    tail->after = block;
    if (!tail->in_use) count_split(tail, +1);
  }
  range.last = block;
  count_split(block, +1);
  return block;
}

/// Gives back what is free at the end of a range, whichever streams it belonged to.
size_t PoolAllocator::shrink(Range& range) {
  const Block* first = nullptr;  // Of the free blocks at the end.
  for (const Block* b = range.last; b != nullptr && !b->in_use; b = b->before) first = b;
  if (first == nullptr) return 0;
  const size_t before = range.memory->mapped();
  range.memory->shrink(static_cast<size_t>(first->ptr - range.memory->begin()));
  const size_t given = before - range.memory->mapped();
  if (given > 0) count_reserved(-static_cast<int64_t>(given));
  for (size_t left = given; left > 0;) {
    Block* tail = range.last;
    const size_t bytes = std::min(left, tail->size);
    left -= bytes;
    count_split(tail, -1);
    tail->arena->free.erase(tail);
    tail->size -= bytes;
    if (tail->size == 0) {
      drop_last(range);
    } else {
      tail->arena->free.insert(tail);
      count_split(tail, +1);
    }
  }
  return given;
}

void PoolAllocator::drop_last(Range& range) {
  Block* dropped = range.last;
  Block* tail = dropped->before;
  range.last = tail;
  all_.erase(dropped);
  delete dropped;
  if (tail == nullptr) {
    stats_.segment.add(-1);
    return;
  }
  if (!tail->in_use) count_split(tail, -1);
  tail->after = nullptr;
  if (!tail->in_use) count_split(tail, +1);
}

/// The whole segment that starts at `head` is free and outside of captures.
bool PoolAllocator::unused_segment(const Block* head) {
  if (head->before != nullptr || head->range != nullptr) return false;
  for (const Block* b = head; b != nullptr; b = b->after) {
    if (b->in_use || b->arena->capture != 0) return false;
  }
  return true;
}

size_t PoolAllocator::release_free_segments() {
  size_t bytes = 0;
  std::vector<Block*> heads;
  std::copy_if(all_.begin(), all_.end(), std::back_inserter(heads), unused_segment);
  for (Block* head : heads) {
    size_t size = 0;
    char* const memory = head->ptr;
    for (Block* b = head; b != nullptr; b = b->after) {
      count_split(b, -1);
      size += b->size;
      b->arena->free.erase(b);
      all_.erase(b);
    }
    while (head != nullptr) delete std::exchange(head, head->after);
    source_->release(memory, size);
    bytes += size;
    stats_.segment.add(-1);
    count_reserved(-static_cast<int64_t>(size));
  }
  for (auto& [key, a] : arenas_) bytes += shrink(a->range);
  return bytes;
}

}  // namespace wt::rt
