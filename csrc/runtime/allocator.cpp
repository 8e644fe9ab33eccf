// SPDX-License-Identifier: Apache-2.0
// allocator.cpp: the adaptors, and which allocator a device uses.
#include "csrc/runtime/allocator.h"

#include <map>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/pool_allocator.h"

namespace wt::rt {

void* LimitAllocator::alloc(size_t bytes, Stream stream) {
  {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ - used_) {
      throw OutOfMemoryError(
          cat("out of memory: could not allocate ", bytes, " bytes; the limit is ", limit_,
              " bytes and ", used_, " of them are in use. Raise the limit or free some arrays."),
          bytes);
    }
    used_ += bytes;
  }
  void* ptr = nullptr;
  try {
    ptr = AllocatorAdaptor::alloc(bytes, stream);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
    throw;
  }
  const std::lock_guard lock(mutex_);
  if (ptr != nullptr) sizes_[ptr] = bytes;
  return ptr;
}

void LimitAllocator::free(void* ptr) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = sizes_.find(ptr); it != sizes_.end()) {
      used_ -= it->second;
      sizes_.erase(it);
    }
  }
  AllocatorAdaptor::free(ptr);
}

size_t LimitAllocator::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

void* LogAllocator::alloc(size_t bytes, Stream stream) {
  void* ptr = AllocatorAdaptor::alloc(bytes, stream);
  log_({.ptr = ptr, .bytes = bytes, .stream = stream});
  return ptr;
}

void LogAllocator::free(void* ptr) noexcept {
  log_({.ptr = ptr, .bytes = 0, .stream = {}});
  AllocatorAdaptor::free(ptr);
}

void* FaultAllocator::alloc(size_t bytes, Stream stream) {
  int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = count_++;
  }
  if (fails_(number)) {
    throw OutOfMemoryError(
        cat("out of memory: planted failure of allocation ", number, " (", bytes, " bytes)"),
        bytes);
  }
  return AllocatorAdaptor::alloc(bytes, stream);
}

namespace {

struct Registry {
  std::mutex mutex;
  std::map<Device*, std::shared_ptr<Allocator>> of;
};
Registry& registry() {
  static auto* all = new Registry;  // Never destroyed: arrays are freed while the process ends.
  return *all;
}

}  // namespace

std::shared_ptr<Allocator> allocator_of(Device& device) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::shared_ptr<Allocator>& allocator = all.of[&device];
  if (!allocator) allocator = std::make_shared<PoolAllocator>(memory_source_of(device));
  return allocator;
}

void set_allocator(Device& device, std::shared_ptr<Allocator> allocator) {
  WT_CHECK(allocator != nullptr);
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.of[&device] = std::move(allocator);
}

}  // namespace wt::rt
