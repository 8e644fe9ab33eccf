// SPDX-License-Identifier: Apache-2.0
// disk_cache.cpp: entries, locks between processes, eviction.
#include "csrc/runtime/disk_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/hash.h"
#include "csrc/runtime/process.h"

namespace wt::rt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "warp_torch cache 1\n";
constexpr std::string_view kSuffix = ".bin";
constexpr size_t kKeyLength = 32;
constexpr size_t kHeaderSize = kMagic.size() + kKeyLength + 1;  // Magic, checksum, line end.
constexpr auto kStaleTemporary = std::chrono::hours(1);

/// Of the key too: an entry under the wrong name is damaged.
std::string checksum(std::string_view key, std::string_view data) {
  return Hasher().add(key).add(data).finish().hex();
}

class File {
 public:
  File(const std::string& path, int flags) {
    do {
      fd_ = open(path.c_str(), flags | O_CLOEXEC, 0600);
    } while (fd_ < 0 && errno == EINTR);
  }
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool good() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  /// False if the file cannot be locked; then there is no protection, only double work.
  bool lock() const {
    int result = 0;
    do {
      result = flock(fd_, LOCK_EX);
    } while (result != 0 && errno == EINTR);
    return result == 0;
  }

 private:
  int fd_ = -1;
};

struct Found {
  fs::path path;
  uint64_t bytes = 0;
  fs::file_time_type used;
};

/// All entries. What vanishes meanwhile is left out.
std::vector<Found> entries_of(const std::string& folder) {
  std::vector<Found> out;
  std::error_code error;
  for (const fs::directory_entry& item : fs::directory_iterator(folder, error)) {
    if (item.path().extension() != kSuffix) continue;
    Found found{.path = item.path(), .bytes = 0, .used = {}};
    found.bytes = item.file_size(error);
    if (error) continue;
    found.used = item.last_write_time(error);
    if (!error) out.push_back(std::move(found));
  }
  return out;
}

/// Temporary files of processes that were killed.
void remove_stale_temporaries(const std::string& folder) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const fs::directory_entry& item : fs::directory_iterator(folder, error)) {
    if (item.path().extension() != ".tmp") continue;
    const auto written = item.last_write_time(error);
    if (!error && now - written > kStaleTemporary) fs::remove(item.path(), error);
  }
}

/// Why `folder` cannot serve; empty if it can. Code is loaded from it, so it must be ours.
std::string unusable(const std::string& folder) {
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return cat("folder ", folder, " cannot be made: ", std::strerror(errno));
  }
  struct stat info;
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return cat(folder, " is not a folder");
  }
  if (info.st_uid != geteuid()) return cat("folder ", folder, " belongs to another user");
  if ((info.st_mode & S_IWOTH) != 0) {
    return cat("folder ", folder, " can be written by everybody; run chmod o-w on it");
  }
  if (access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
    return cat("folder ", folder, " cannot be written: ", std::strerror(errno));
  }
  return {};
}

}  // namespace

std::string DiskCache::default_folder() {
  if (const char* folder = std::getenv("WARP_TORCH_CACHE")) return folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return cat(cache, "/warp_torch");
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return cat(home, "/.cache/warp_torch");
  }
  return {};
}

DiskCache::DiskCache(std::string folder, uint64_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {
  off_reason_ = folder_.empty() ? "no folder is set" : unusable(folder_);
  if (!on()) return;
  remove_stale_temporaries(folder_);
  estimate_ = bytes();
}

std::string DiskCache::path_of(std::string_view key) const {
  WT_CHECK(key.size() == kKeyLength &&
               key.find_first_not_of("0123456789abcdef") == std::string_view::npos,
           "bad cache key ", key);
  return cat(folder_, "/", key, kSuffix);
}

DiskCache::Verdict DiskCache::read(const std::string& path, std::string_view key,
                                   std::string& data) {
  const File file(path, O_RDONLY);
  if (!file.good()) return errno == ENOENT ? Verdict::kMissing : Verdict::kUnreadable;
  std::optional<std::string> content = read_all(file.fd());
  if (!content) return Verdict::kUnreadable;
  const std::string_view text = *content;
  if (text.size() < kHeaderSize || !text.starts_with(kMagic) || text[kHeaderSize - 1] != '\n') {
    return Verdict::kDamaged;
  }
  const std::string_view want = text.substr(kMagic.size(), kKeyLength);
  if (checksum(key, text.substr(kHeaderSize)) != want) return Verdict::kDamaged;
  futimens(file.fd(), nullptr);  // Used now. If this fails, the entry is merely evicted earlier.
  content->erase(0, kHeaderSize);
  data = std::move(*content);
  return Verdict::kGood;
}

std::optional<std::string> DiskCache::get(std::string_view key) {
  const std::string path = path_of(key);
  if (!on()) return std::nullopt;
  std::string data;
  switch (read(path, key, data)) {
    case Verdict::kGood:
      ++stats_.hits;
      return data;
    case Verdict::kDamaged:
      ++stats_.damaged;
      unlink(path.c_str());
      break;
    case Verdict::kUnreadable:
      ++stats_.io_errors;
      fail(cat("could not read ", path, ": ", std::strerror(errno)));
      break;
    case Verdict::kMissing:
      break;
  }
  ++stats_.misses;
  return std::nullopt;
}

bool DiskCache::put(std::string_view key, std::string_view data) {
  path_of(key);  // Checks the key.
  if (!on()) return false;
  if (!write_entry(key, data)) {
    ++stats_.io_errors;
    return false;
  }
  ++stats_.writes;
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    estimate_ += data.size() + kHeaderSize;
    full = estimate_ > most_bytes_;
  }
  if (full) evict();
  return true;
}

bool DiskCache::write_entry(std::string_view key, std::string_view data) {
  static std::atomic<uint64_t> counter{0};
  const std::string temporary = cat(folder_, "/", key, ".", getpid(), ".", ++counter, ".tmp");
  const File file(temporary, O_WRONLY | O_CREAT | O_EXCL);
  const std::string header = cat(kMagic, checksum(key, data), "\n");
  // No fsync: after a crash the checksum tells.
  if (file.good() && write_all(file.fd(), header) && write_all(file.fd(), data) &&
      rename(temporary.c_str(), path_of(key).c_str()) == 0) {
    return true;
  }
  fail(cat("could not write ", path_of(key), ": ", std::strerror(errno)));
  if (file.good()) unlink(temporary.c_str());
  return false;
}

std::string DiskCache::get_or_make(std::string_view key, const std::function<std::string()>& make) {
  if (std::optional<std::string> found = get(key)) return std::move(*found);
  if (!on()) return make();
  // One lock file for each of 256 groups of keys: they need not be deleted, which would race.
  const File lock(cat(folder_, "/", key.substr(0, 2), ".lock"), O_RDWR | O_CREAT);
  if (lock.good() && lock.lock()) {
    std::string data;  // Another process may have made it meanwhile.
    if (read(path_of(key), key, data) == Verdict::kGood) {
      ++stats_.hits;
      return data;
    }
  }
  std::string made = make();
  put(key, made);
  return made;
}

void DiskCache::evict() {
  const File lock(folder_ + "/evict.lock", O_RDWR | O_CREAT);
  if (lock.good()) lock.lock();
  std::vector<Found> all = entries_of(folder_);
  std::sort(all.begin(), all.end(), [](const Found& x, const Found& y) { return x.used < y.used; });
  uint64_t total = 0;
  for (const Found& f : all) total += f.bytes;
  // A tenth below the bound, so that the next entries need no eviction. The youngest entry is what
  // was just made and stays.
  const uint64_t goal = most_bytes_ - most_bytes_ / 10;
  for (size_t i = 0; i + 1 < all.size() && total > goal; ++i) {
    std::error_code error;
    if (!fs::remove(all[i].path, error) || error) continue;
    total -= all[i].bytes;
    ++stats_.evictions;
  }
  const std::lock_guard guard(mutex_);
  estimate_ = total;
}

int64_t DiskCache::clear() {
  if (!on()) return 0;
  int64_t count = 0;
  for (const Found& f : entries_of(folder_)) {
    std::error_code error;
    count += fs::remove(f.path, error) && !error ? 1 : 0;
  }
  const std::lock_guard lock(mutex_);
  estimate_ = 0;
  return count;
}

uint64_t DiskCache::bytes() const {
  uint64_t total = 0;
  if (on()) {
    for (const Found& f : entries_of(folder_)) total += f.bytes;
  }
  return total;
}

void DiskCache::fail(std::string what) {
  const std::lock_guard lock(mutex_);
  last_error_ = std::move(what);
}

std::string DiskCache::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

}  // namespace wt::rt
