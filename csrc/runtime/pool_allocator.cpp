// SPDX-License-Identifier: Apache-2.0
// pool_allocator.cpp: splitting, merging, streams and events. The header says how it works;
// pool_growth.cpp takes memory from the device and gives it back.
#include "csrc/runtime/pool_allocator.h"

#include <algorithm>
#include <bit>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/pool_sizes.h"

namespace wt::rt {
namespace {

/// Events of a device that has failed are never over: its blocks are not used again.
bool over(Event& event) noexcept {
  try {
    return event.done();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

size_t PoolAllocator::rounded(size_t bytes) {
  if (bytes <= kLargestSmall) return round_up(std::max<size_t>(bytes, 1), kAlignment);
  // Eight sizes per power of two: few enough to be met again, at most an eighth wasted.
  const size_t step = std::bit_floor(bytes - 1) / 8;
  return round_up(bytes, std::min(step, kLargestStep));
}

PoolAllocator::PoolAllocator(std::unique_ptr<MemorySource> source)
    : source_(std::move(source)), range_step_(source_->range_step()) {}

PoolAllocator::~PoolAllocator() {
  for (Block* block : all_) {
    if (block->before == nullptr && block->range == nullptr) {
      size_t size = 0;
      for (const Block* b = block; b != nullptr; b = b->after) size += b->size;
      source_->release(block->ptr, size);
    }
  }
  for (Block* block : all_) delete block;
}

PoolAllocator::Arena& PoolAllocator::arena(Stream stream, uint64_t capture, bool small) {
  std::unique_ptr<Arena>& slot = arenas_[{stream.handle, capture, small}];
  if (!slot) {
    slot = std::make_unique<Arena>();
    slot->stream = stream;
    slot->capture = capture;
    slot->small = small;
  }
  return *slot;
}

void* PoolAllocator::alloc(size_t bytes, Stream stream) {
  if (bytes == 0) return nullptr;
  std::unique_lock lock(mutex_);
  if (bytes > PTRDIFF_MAX / 2) out_of_memory(bytes);
  const size_t size = rounded(bytes);
  poll_pending();
  Arena& home = arena(stream, source_->capture_id(stream), size <= kLargestSmall);
  Block* block = find(home, size);
  if (block == nullptr) block = borrow(home, size, /*device_waits=*/false);
  if (block == nullptr) block = grow(home, size, lock);
  if (block == nullptr) out_of_memory(bytes);
  return hand_out(block, size, bytes);
}

PoolAllocator::Block* PoolAllocator::find(Arena& from, size_t size) {
  Block key;
  key.size = size;
  const auto it = from.free.lower_bound(&key);
  if (it == from.free.end()) return nullptr;
  // A huge block is not broken for a middle-sized request: that is how fragmentation starts.
  const Block* best = *it;
  if (!from.small && best->range == nullptr && size < kOwnSegment &&
      best->size > 4 * kLargeSegment && best->whole()) {
    return nullptr;
  }
  return *it;
}

/// A free block of another stream whose work on it is over, or that `to` can wait for.
PoolAllocator::Block* PoolAllocator::borrow(Arena& to, size_t size, bool device_waits) {
  // Inside a capture nothing outside may be waited for, and nothing outside may be given away.
  if (to.capture != 0) return nullptr;
  for (auto& [key, other] : arenas_) {
    if (other.get() == &to || other->small != to.small || other->capture != 0) continue;
    if (Block* block = take_from(*other, to, size, device_waits)) return block;
  }
  return nullptr;
}

PoolAllocator::Block* PoolAllocator::take_from(Arena& from, Arena& to, size_t size,
                                               bool device_waits) {
  Block key;
  key.size = size;
  std::shared_ptr<Event> now;
  for (auto it = from.free.lower_bound(&key); it != from.free.end(); ++it) {
    Block* block = *it;
    if (block->idle == nullptr) {
      if (now == nullptr) {
        if (source_->capture_id(from.stream) != 0) return nullptr;
        now = source_->create_event();
        now->record(from.stream);
      }
      block->idle = now;
    }
    if (!block->idle->done()) {
      if (!device_waits) continue;
      block->idle->wait(to.stream);
    }
    move_to(block, to);
    return block;
  }
  return nullptr;
}

void PoolAllocator::move_to(Block* block, Arena& to) {
  block->arena->free.erase(block);
  block->arena = &to;
  block->idle = nullptr;
  to.free.insert(block);
}

PoolAllocator::Block* PoolAllocator::adopt(void* memory, size_t bytes, Arena& to) {
  auto* block = new Block;
  block->ptr = static_cast<char*>(memory);
  block->size = bytes;
  block->arena = &to;
  all_.insert(block);
  to.free.insert(block);
  return block;
}

/// Takes a free block, leaving what is too much of it as a block of its own.
void* PoolAllocator::hand_out(Block* block, size_t size, size_t requested) {
  count_split(block, -1);
  block->arena->free.erase(block);
  block->idle = nullptr;
  const size_t least = block->arena->small ? kAlignment : kLargestSmall;
  if (block->size - size >= least) {
    auto* rest = new Block;
    rest->ptr = block->ptr + size;
    rest->size = block->size - size;
    rest->arena = block->arena;
    rest->range = block->range;
    if (rest->range != nullptr && rest->range->last == block) rest->range->last = rest;
    rest->before = block;
    rest->after = block->after;
    if (rest->after != nullptr) rest->after->before = rest;
    block->after = rest;
    block->size = size;
    all_.insert(rest);
    rest->arena->free.insert(rest);
    count_split(rest, +1);
  }
  block->in_use = true;
  block->requested = requested;
  handed_out_[block->ptr] = block;
  stats_.allocation.add(1);
  stats_.allocated_bytes.add(static_cast<int64_t>(block->size));
  stats_.requested_bytes.add(static_cast<int64_t>(requested));
  stats_.active_bytes.add(static_cast<int64_t>(block->size));
  return block->ptr;
}

/// Free blocks count as split when their segment has others.
void PoolAllocator::count_split(const Block* block, int sign) {
  if (!block->whole()) {
    stats_.inactive_split_bytes.add(sign * static_cast<int64_t>(block->size));
  }
}

void PoolAllocator::use_on(void* ptr, Stream stream) {
  if (ptr == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto it = handed_out_.find(ptr);
  WT_CHECK(it != handed_out_.end(), "use_on of ", ptr, ", which this pool has not handed out");
  Block* block = it->second;
  if (stream == block->arena->stream) return;
  if (std::find(block->used_on.begin(), block->used_on.end(), stream) == block->used_on.end()) {
    block->used_on.push_back(stream);
  }
}

void PoolAllocator::free(void* ptr) noexcept {
  if (ptr == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto it = handed_out_.find(ptr);
  if (it == handed_out_.end()) return;  // Freed twice: there is no way to tell a destructor.
  Block* block = it->second;
  handed_out_.erase(it);
  stats_.allocation.add(-1);
  stats_.allocated_bytes.add(-static_cast<int64_t>(block->size));
  stats_.requested_bytes.add(-static_cast<int64_t>(block->requested));
  if (block->used_on.empty()) {
    put_back(block);
    return;
  }
  Pending pending{.block = block, .events = {}, .unrecorded = std::move(block->used_on)};
  block->used_on.clear();
  record_uses(pending);
  pending_.push_back(std::move(pending));
}

/// Records an event on every stream that is not being captured; the others wait for their turn.
void PoolAllocator::record_uses(Pending& pending) {
  std::erase_if(pending.unrecorded, [&](Stream stream) {
    try {
      if (source_->capture_id(stream) != 0) return false;
      auto event = source_->create_event();
      event->record(stream);
      pending.events.push_back(std::move(event));
      return true;
    } catch (const Error&) {
      return false;  // A device that has failed: the block is never used again.
    }
  });
}

bool PoolAllocator::passed(Pending& pending) {
  // What a graph uses on several streams is used again at every replay.
  if (pending.block->arena->capture != 0) return false;
  if (!pending.unrecorded.empty()) record_uses(pending);
  if (!pending.unrecorded.empty()) return false;
  return std::all_of(pending.events.begin(), pending.events.end(),
                     [](const auto& event) { return over(*event); });
}

void PoolAllocator::poll_pending() {
  // In order of the frees; a few at a time, so that an allocation stays cheap.
  constexpr size_t kLooks = 16;
  size_t looks = 0;
  for (auto it = pending_.begin(); it != pending_.end() && looks < kLooks;) {
    if (passed(*it)) {
      Block* block = it->block;
      it = pending_.erase(it);
      put_back(block);
    } else {
      ++it;
      ++looks;
    }
  }
}

void PoolAllocator::put_back(Block* block) {
  stats_.active_bytes.add(-static_cast<int64_t>(block->size));
  block->in_use = false;
  block->requested = 0;
  const auto mergeable = [&](const Block* other) {
    if (other == nullptr || other->in_use) return false;
    if (other->arena == block->arena) return true;
    // Another stream's block that nobody uses any more need not keep the segment in pieces.
    return other->arena->capture == block->arena->capture && other->idle && over(*other->idle);
  };
  Arena* home = block->arena;
  if (mergeable(block->before)) {
    count_split(block->before, -1);
    block = merge(block->before, block);
    block->arena = home;
  }
  if (mergeable(block->after)) {
    count_split(block->after, -1);
    block = merge(block, block->after);
  }
  block->idle = nullptr;  // The youngest part may still be in use on the stream.
  block->arena->free.insert(block);
  count_split(block, +1);
}

PoolAllocator::Block* PoolAllocator::merge(Block* left, Block* right) {
  left->arena->free.erase(left);
  right->arena->free.erase(right);
  left->size += right->size;
  if (right->range != nullptr && right->range->last == right) right->range->last = left;
  left->after = right->after;
  if (left->after != nullptr) left->after->before = left;
  all_.erase(right);
  delete right;
  return left;
}

size_t PoolAllocator::trim() {
  const std::lock_guard lock(mutex_);
  source_->synchronize();
  for (auto it = pending_.begin(); it != pending_.end();) {
    if (!passed(*it)) {
      ++it;
      continue;
    }
    Block* block = it->block;
    it = pending_.erase(it);
    put_back(block);
  }
  return release_free_segments();
}

void PoolAllocator::release_capture(uint64_t capture) {
  if (capture == 0) return;
  const std::lock_guard lock(mutex_);
  for (Block* block : all_) {
    if (block->arena->capture != capture) continue;
    Arena& home = arena(block->arena->stream, 0, block->arena->small);
    if (block->in_use) {
      block->arena = &home;
    } else {
      move_to(block, home);
    }
  }
}

AllocatorStats PoolAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void PoolAllocator::reset_peaks() {
  const std::lock_guard lock(mutex_);
  for (AllocatorStats::Counter* c :
       {&stats_.allocation, &stats_.allocated_bytes, &stats_.requested_bytes, &stats_.active_bytes,
        &stats_.segment, &stats_.reserved_bytes, &stats_.inactive_split_bytes}) {
    c->peak = c->current;
  }
}

void PoolAllocator::on_out_of_memory(std::function<bool(size_t)> callback) {
  const std::lock_guard lock(mutex_);
  callback_ = std::move(callback);
}

void PoolAllocator::out_of_memory(size_t bytes) {
  ++stats_.num_ooms;
  throw OutOfMemoryError(
      cat(source_->name(), ": out of memory: could not allocate ", bytes, " bytes. Arrays hold ",
          stats_.allocated_bytes.current, " bytes; the pool has reserved ",
          stats_.reserved_bytes.current, " bytes, of which ", stats_.inactive_split_bytes.current,
          " are free but split."),
      bytes);
}

}  // namespace wt::rt
