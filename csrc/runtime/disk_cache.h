// SPDX-License-Identifier: Apache-2.0
// disk_cache.h: binaries on disk, shared by processes.
//
// The key is a hash of all that decides the content (emitted text, flags, compiler, target), so an
// entry never goes stale. An entry is written to a temporary file and renamed, and carries a
// checksum: a damaged one counts as missing and is replaced. A read or write error of the system is
// no verdict about the entry, so it deletes nothing. Nothing here ever fails a compile: without a
// usable folder the cache is merely off, and says why.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "csrc/codegen/support/api.h"

namespace wt::rt {

/// Thread-safe, and safe between processes on one machine.
class WT_API DiskCache {
 public:
  struct Stats {
    std::atomic<int64_t> hits{0};
    std::atomic<int64_t> misses{0};
    std::atomic<int64_t> damaged{0};
    std::atomic<int64_t> io_errors{0};
    std::atomic<int64_t> writes{0};
    std::atomic<int64_t> evictions{0};
  };

  /// Entries in `folder` (made if need be) may take `most_bytes` together. An empty folder turns
  /// the cache off.
  explicit DiskCache(std::string folder, uint64_t most_bytes = uint64_t{1} << 30);

  /// The folder for an empty setting: $WARP_TORCH_CACHE, else $XDG_CACHE_HOME/warp_torch, else
  /// ~/.cache/warp_torch; empty if there is none.
  static std::string default_folder();

  bool on() const { return off_reason_.empty(); }
  const std::string& off_reason() const { return off_reason_; }
  const std::string& folder() const { return folder_; }

  /// The entry of `key` (32 hexadecimal digits), which counts as used now.
  std::optional<std::string> get(std::string_view key);
  /// Stores an entry; false, with the reason in last_error(), if it could not be written.
  bool put(std::string_view key, std::string_view data);
  /// get(), else make() and put(). While one process makes a key the others wait for it. What
  /// make() throws is passed on.
  std::string get_or_make(std::string_view key, const std::function<std::string()>& make);
  /// Deletes all entries; returns how many.
  int64_t clear();
  /// Sum of the sizes of all entries.
  uint64_t bytes() const;
  const Stats& stats() const { return stats_; }
  std::string last_error() const;

 private:
  enum class Verdict { kGood, kDamaged, kMissing, kUnreadable };
  Verdict read(const std::string& path, std::string_view key, std::string& data);
  std::string path_of(std::string_view key) const;
  bool write_entry(std::string_view key, std::string_view data);
  void fail(std::string what);
  void evict();

  std::string folder_;
  std::string off_reason_;
  uint64_t most_bytes_;
  Stats stats_;
  mutable std::mutex mutex_;  // Guards the rest.
  std::string last_error_;
  uint64_t estimate_ = 0;  // Bytes on disk as far as this process knows.
};

}  // namespace wt::rt
