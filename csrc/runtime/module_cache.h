// SPDX-License-Identifier: Apache-2.0
// module_cache.h: compiled modules of this process, by the hash of what they were made from.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "csrc/codegen/support/hash.h"
#include "csrc/runtime/executable.h"

namespace wt::rt {

/// Thread-safe. A key is made once, whoever asks and however many ask at the same time.
class ModuleCache {
 public:
  using Make = std::function<std::shared_ptr<Executable>()>;

  struct Stats {
    int64_t hits = 0;
    int64_t misses = 0;    ///< Calls of `make`.
    int64_t failures = 0;  ///< Calls of `make` that threw.
  };

  /// The module of `key`, made by `make` if there is none. Others that ask for the same key wait;
  /// if `make` throws, they get the same exception and the next call tries again.
  std::shared_ptr<Executable> get(const Hash128& key, const Make& make);
  /// The module of `key`, or null. One shared lock, no waiting for a compile.
  std::shared_ptr<Executable> find(const Hash128& key) const;
  /// Drops all modules. Those in use stay loaded as long as somebody holds them.
  void clear();
  size_t size() const;
  Stats stats() const;

 private:
  struct Making {
    std::thread::id by;
    bool over = false;
    std::shared_ptr<Executable> made;
    std::exception_ptr error;
  };
  std::shared_ptr<Executable> finish(const Hash128& key, const std::shared_ptr<Making>& making);

  mutable std::shared_mutex made_mutex_;  // Guards made_.
  std::unordered_map<Hash128, std::shared_ptr<Executable>> made_;
  mutable std::mutex mutex_;  // Guards the rest.
  std::condition_variable over_;
  std::unordered_map<Hash128, std::shared_ptr<Making>> making_;
  Stats stats_;
};

}  // namespace wt::rt
