// SPDX-License-Identifier: Apache-2.0
// test_caches.cpp: the cache on disk and the cache in memory.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/hash.h"
#include "csrc/runtime/disk_cache.h"
#include "csrc/runtime/module_cache.h"
#include "csrc/runtime/process.h"

namespace wt::rt {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Optional;

std::string key(std::string_view text) { return hash128(text).hex(); }

class DiskCacheTest : public ::testing::Test {
 protected:
  std::string folder() const { return root_.path() + "/cache"; }
  std::string entry(std::string_view text) const { return folder() + "/" + key(text) + ".bin"; }
  static std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::string& path, std::string_view data) {
    std::ofstream(path, std::ios::binary) << data;
  }
  static void set_age(const std::string& path, int seconds) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  }

  TemporaryFolder root_;
};

TEST_F(DiskCacheTest, KeepsEntriesAcrossObjects) {
  std::string data(100'000, '\0');
  std::mt19937 random(1);
  for (char& c : data) c = static_cast<char>(random());
  {
    DiskCache cache(folder());
    EXPECT_EQ(cache.get(key("a")), std::nullopt);
    EXPECT_TRUE(cache.put(key("a"), data));
    EXPECT_TRUE(cache.put(key("empty"), ""));
  }
  DiskCache cache(folder());
  EXPECT_THAT(cache.get(key("a")), Optional(data));
  EXPECT_THAT(cache.get(key("empty")), Optional(std::string()));
  EXPECT_EQ(cache.stats().hits, 2);
  struct stat info;
  ASSERT_EQ(stat(folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(DiskCacheTest, EveryDamageIsAMissAndIsRepaired) {
  DiskCache cache(folder());
  const std::string data(1000, 'x');
  ASSERT_TRUE(cache.put(key("a"), data));
  const std::string good = content(entry("a"));
  std::mt19937 random(2);
  std::vector<std::string> damaged = {"", good.substr(0, 10), good.substr(0, good.size() - 1),
                                      good + "x"};
  for (int i = 0; i < 50; ++i) {
    std::string flipped = good;
    flipped[random() % flipped.size()] ^= static_cast<char>(1 << (random() % 8));
    damaged.push_back(flipped);
  }
  for (const std::string& bad : damaged) {
    write(entry("a"), bad);
    EXPECT_EQ(cache.get(key("a")), std::nullopt);
    EXPECT_FALSE(fs::exists(entry("a")));
    EXPECT_EQ(cache.get_or_make(key("a"), [&] { return data; }), data);
    EXPECT_EQ(content(entry("a")), good);
  }
  EXPECT_EQ(cache.stats().damaged, 54);
}

TEST_F(DiskCacheTest, AnEntryUnderAnotherNameIsDamaged) {
  DiskCache cache(folder());
  ASSERT_TRUE(cache.put(key("a"), "code of a"));
  fs::copy(entry("a"), entry("b"));
  EXPECT_EQ(cache.get(key("b")), std::nullopt);
}

TEST_F(DiskCacheTest, AReadErrorDeletesNothing) {
  DiskCache cache(folder());
  fs::create_directory(entry("a"));  // Reading a folder fails with EISDIR.
  EXPECT_EQ(cache.get(key("a")), std::nullopt);
  EXPECT_EQ(cache.stats().io_errors, 1);
  EXPECT_TRUE(fs::exists(entry("a")));
  EXPECT_THAT(cache.last_error(), HasSubstr("could not read"));
  EXPECT_EQ(cache.get_or_make(key("a"), [] { return std::string("made"); }), "made");
  EXPECT_TRUE(fs::exists(entry("a")));
}

TEST_F(DiskCacheTest, AWriteErrorLeavesNoTrace) {
  DiskCache cache(folder());
  fs::create_directory(entry("a"));  // rename() onto it fails.
  EXPECT_FALSE(cache.put(key("a"), "x"));
  EXPECT_THAT(cache.last_error(), HasSubstr("could not write"));
  for (const auto& item : fs::directory_iterator(folder())) {
    EXPECT_NE(item.path().extension(), ".tmp");
  }
}

TEST_F(DiskCacheTest, LeastRecentlyUsedEntriesGoFirst) {
  DiskCache cache(folder(), 10'000);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(cache.put(key(cat(i)), std::string(1000, 'x')));
    set_age(entry(cat(i)), 100 - i);
  }
  ASSERT_TRUE(cache.get(key("0")).has_value());  // Now the youngest.
  ASSERT_TRUE(cache.put(key("big"), std::string(3000, 'y')));
  EXPECT_TRUE(fs::exists(entry("0")));
  EXPECT_FALSE(fs::exists(entry("1")));
  EXPECT_TRUE(fs::exists(entry("7")));
  EXPECT_TRUE(fs::exists(entry("big")));
  EXPECT_LE(cache.bytes(), 10'000u);
  EXPECT_GT(cache.stats().evictions, 0);
}

TEST_F(DiskCacheTest, AnEntryLargerThanTheBoundStillServes) {
  DiskCache cache(folder(), 100);
  EXPECT_EQ(cache.get_or_make(key("a"), [] { return std::string(1000, 'x'); }).size(), 1000u);
  EXPECT_TRUE(cache.get(key("a")).has_value());
}

TEST_F(DiskCacheTest, WithoutAFolderItIsOffAndSaysWhy) {
  DiskCache none("");
  EXPECT_FALSE(none.on());
  EXPECT_EQ(none.get_or_make(key("a"), [] { return std::string("made"); }), "made");
  EXPECT_FALSE(none.put(key("a"), "x"));
  write(root_.path() + "/file", "");
  const DiskCache file(root_.path() + "/file");
  EXPECT_THAT(file.off_reason(), HasSubstr("is not a folder"));
  fs::create_directory(root_.path() + "/open");
  chmod((root_.path() + "/open").c_str(), 0777);
  const DiskCache open(root_.path() + "/open");
  EXPECT_THAT(open.off_reason(), HasSubstr("can be written by everybody"));
}

TEST_F(DiskCacheTest, StaleTemporaryFilesAreRemoved) {
  fs::create_directory(folder());
  chmod(folder().c_str(), 0700);
  write(folder() + "/old.tmp", "x");
  write(folder() + "/new.tmp", "x");
  set_age(folder() + "/old.tmp", 7200);
  const DiskCache cache(folder());
  EXPECT_FALSE(fs::exists(folder() + "/old.tmp"));
  EXPECT_TRUE(fs::exists(folder() + "/new.tmp"));
}

TEST_F(DiskCacheTest, BadKeysAreABug) {
  DiskCache cache(folder());
  EXPECT_THROW(cache.get("../../etc/passwd"), InternalError);
}

TEST_F(DiskCacheTest, FailedMakesAreNotStored) {
  DiskCache cache(folder());
  EXPECT_THROW(cache.get_or_make(key("a"), []() -> std::string { throw DeviceError("no"); }),
               DeviceError);
  EXPECT_EQ(cache.get_or_make(key("a"), [] { return std::string("yes"); }), "yes");
}

TEST_F(DiskCacheTest, ProcessesMakeAKeyOnce) {
  constexpr int kProcesses = 6;
  const std::string log = root_.path() + "/log";
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      DiskCache cache(folder());
      bool good = true;
      for (int k = 0; k < 5; ++k) {
        const std::string data = cache.get_or_make(key(cat("k", k)), [&] {
          const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
          write_all(fd, "m");
          close(fd);
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          return cat("data ", k);
        });
        good = good && data == cat("data ", k);
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(content(log), "mmmmm");
}

class NamedModule : public Executable {
 public:
  explicit NamedModule(int id) : id(id) {}
  const Entry* entry(std::string_view) override { return nullptr; }
  void plan(const Entry*, LaunchShape&) override {}
  void launch(const Entry*, const LaunchShape&, const void*, size_t, Stream) override {}
  int id;
};

TEST(ModuleCache, MakesOncePerKeyWhoeverAsks) {
  ModuleCache cache;
  std::atomic<int> made{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 10; ++k) {
        const auto module = cache.get(hash128(cat(k)), [&] {
          ++made;
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          return std::make_shared<NamedModule>(k);
        });
        if (static_cast<NamedModule*>(module.get())->id != k) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(made.load(), 10);
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(cache.size(), 10u);
  EXPECT_EQ(cache.stats().misses, 10);
  EXPECT_EQ(cache.stats().hits, 70);
}

TEST(ModuleCache, DifferentKeysAreMadeAtTheSameTime) {
  ModuleCache cache;
  std::atomic<int> inside{0};
  const auto meet = [&]() -> std::shared_ptr<Executable> {
    ++inside;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (inside.load() < 2 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    return std::make_shared<NamedModule>(inside.load());
  };
  std::thread other([&] { cache.get(hash128("a"), meet); });
  cache.get(hash128("b"), meet);
  other.join();
  EXPECT_EQ(inside.load(), 2);
}

TEST(ModuleCache, FailuresReachEveryWaiterAndAreNotKept) {
  ModuleCache cache;
  std::atomic<int> calls{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      try {
        cache.get(hash128("a"), [&]() -> std::shared_ptr<Executable> {
          ++calls;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          throw DeviceError("planted");
        });
      } catch (const DeviceError&) {
        ++failed;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failed.load(), 4);
  EXPECT_EQ(cache.find(hash128("a")), nullptr);
  EXPECT_NE(cache.get(hash128("a"), [] { return std::make_shared<NamedModule>(1); }), nullptr);
}

TEST(ModuleCache, AModuleThatNeedsItselfIsABug) {
  ModuleCache cache;
  const ModuleCache::Make make = [&]() -> std::shared_ptr<Executable> {
    return cache.get(hash128("a"), [] { return std::make_shared<NamedModule>(1); });
  };
  EXPECT_THROW(cache.get(hash128("a"), make), InternalError);
}

TEST(ModuleCache, ClearingKeepsModulesThatAreInUse) {
  ModuleCache cache;
  const auto held = cache.get(hash128("a"), [] { return std::make_shared<NamedModule>(1); });
  const std::weak_ptr<Executable> other =
      cache.get(hash128("b"), [] { return std::make_shared<NamedModule>(2); });
  cache.clear();
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_TRUE(other.expired());
  EXPECT_EQ(static_cast<NamedModule*>(held.get())->id, 1);
}

}  // namespace
}  // namespace wt::rt
