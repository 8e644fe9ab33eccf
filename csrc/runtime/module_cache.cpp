// SPDX-License-Identifier: Apache-2.0
// module_cache.cpp: one compile per key.
#include "csrc/runtime/module_cache.h"

#include "csrc/codegen/support/error.h"

namespace wt::rt {

std::shared_ptr<Executable> ModuleCache::find(const Hash128& key) const {
  const std::shared_lock lock(made_mutex_);
  const auto it = made_.find(key);
  return it == made_.end() ? nullptr : it->second;
}

std::shared_ptr<Executable> ModuleCache::get(const Hash128& key, const Make& make) {
  std::shared_ptr<Making> making;
  {
    std::unique_lock lock(mutex_);
    if (auto found = find(key)) {
      ++stats_.hits;
      return found;
    }
    if (const auto it = making_.find(key); it != making_.end()) {
      making = it->second;
      WT_CHECK(making->by != std::this_thread::get_id(), "module ", key.hex(),
               " needs itself to be made");
      over_.wait(lock, [&] { return making->over; });
      if (making->error) std::rethrow_exception(making->error);
      ++stats_.hits;
      return making->made;
    }
    making = std::make_shared<Making>();
    making->by = std::this_thread::get_id();
    making_.emplace(key, making);
    ++stats_.misses;
  }
  try {
    making->made = make();
    WT_CHECK(making->made != nullptr, "module ", key.hex(), " was made as null");
  } catch (...) {
    making->error = std::current_exception();
  }
  return finish(key, making);
}

std::shared_ptr<Executable> ModuleCache::finish(const Hash128& key,
                                                const std::shared_ptr<Making>& making) {
  {
    const std::lock_guard lock(mutex_);
    if (making->error) {
      ++stats_.failures;
    } else {
      const std::unique_lock made_lock(made_mutex_);
      made_.emplace(key, making->made);
    }
    making->over = true;
    making_.erase(key);
  }
  over_.notify_all();
  if (making->error) std::rethrow_exception(making->error);
  return making->made;
}

void ModuleCache::clear() {
  std::unordered_map<Hash128, std::shared_ptr<Executable>> old;  // Unloaded without the lock.
  const std::unique_lock lock(made_mutex_);
  old.swap(made_);
}

size_t ModuleCache::size() const {
  const std::shared_lock lock(made_mutex_);
  return made_.size();
}

ModuleCache::Stats ModuleCache::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace wt::rt
