// SPDX-License-Identifier: Apache-2.0
// test_thread_pool.cpp: coverage of the range, lanes, nesting, exceptions, fork.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/thread_pool.h"

namespace wt::rt {
namespace {

class ThreadPoolTest : public testing::Test {
 protected:
  void TearDown() override { set_thread_count(0); }
};

struct Cover {
  std::vector<std::atomic<int>> hits;
  std::vector<std::atomic<int>> lane_busy;
  std::atomic<bool> shared_lane{false};
  std::atomic<int> most{0};
  std::chrono::microseconds pause{0};

  Cover(size_t n, size_t lanes) : hits(n), lane_busy(lanes) {}
  static void body(void* context, int64_t begin, int64_t end, int64_t lane) {
    auto& self = *static_cast<Cover*>(context);
    if (self.lane_busy.at(static_cast<size_t>(lane)).fetch_add(1) != 0) self.shared_lane = true;
    if (self.pause.count() > 0) std::this_thread::sleep_for(self.pause);
    for (int64_t i = begin; i < end; ++i) ++self.hits.at(static_cast<size_t>(i));
    --self.lane_busy.at(static_cast<size_t>(lane));
    int seen = self.most.load();
    while (seen < lane + 1 && !self.most.compare_exchange_weak(seen, static_cast<int>(lane + 1))) {
    }
  }
  bool once_each() const {
    for (const auto& h : hits) {
      if (h.load() != 1) return false;
    }
    return true;
  }
};

TEST_F(ThreadPoolTest, ChunksCoverTheRangeInMultiplesOfSixteen) {
  for (const int64_t total : {1, 15, 16, 17, 1000, 4096, 100'003, 50'000'001}) {
    const Chunks c = chunks_of(total);
    EXPECT_EQ(c.size % 16, 0);
    EXPECT_EQ(c.begin(0), 0);
    EXPECT_EQ(c.end(c.count - 1), total);
    EXPECT_LT(c.begin(c.count - 1), total);
  }
  EXPECT_EQ(chunks_of(0).count, 0);
}

TEST_F(ThreadPoolTest, ChunksDoNotDependOnTheNumberOfThreads) {
  set_thread_count(1);
  const Chunks one = chunks_of(123'457);
  set_thread_count(7);
  const Chunks seven = chunks_of(123'457);
  EXPECT_EQ(one.size, seven.size);
  EXPECT_EQ(one.count, seven.count);
}

TEST_F(ThreadPoolTest, EveryIndexRunsOnceAndLanesAreExclusive) {
  for (const int threads : {1, 2, 5}) {
    set_thread_count(threads);
    for (const int64_t total : {1, 100, 5000, 300'000}) {
      Cover cover(static_cast<size_t>(total), static_cast<size_t>(threads));
      cover.pause = std::chrono::microseconds(total < 10'000 ? 100 : 0);
      run_chunks(chunks_of(total), parallel_lanes(), Cover::body, &cover);
      EXPECT_TRUE(cover.once_each());
      EXPECT_FALSE(cover.shared_lane);
    }
  }
}

TEST_F(ThreadPoolTest, SlowBodiesWakeOtherThreads) {
  set_thread_count(4);
  Cover cover(1024, 4);
  cover.pause = std::chrono::milliseconds(1);
  run_chunks(chunks_of(1024), 4, Cover::body, &cover);
  EXPECT_GT(cover.most.load(), 1);
}

TEST_F(ThreadPoolTest, LanesAreBoundedByTheCaller) {
  set_thread_count(6);
  Cover cover(4096, 2);  // A third lane would be out of range.
  cover.pause = std::chrono::microseconds(200);
  run_chunks(chunks_of(4096), 2, Cover::body, &cover);
  EXPECT_TRUE(cover.once_each());
}

TEST_F(ThreadPoolTest, NestedLoopsRunOnTheirOwnThread) {
  set_thread_count(4);
  std::atomic<int64_t> sum{0};
  run_chunks(
      chunks_of(640), 4,
      [](void* context, int64_t begin, int64_t end, int64_t) {
        EXPECT_EQ(parallel_lanes(), 1);
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        for (int64_t i = begin; i < end; ++i) {
          run_chunks(
              chunks_of(100), 8,
              [](void* inner, int64_t b, int64_t e, int64_t lane) {
                EXPECT_EQ(lane, 0);
                *static_cast<std::atomic<int64_t>*>(inner) += e - b;
              },
              context);
        }
      },
      &sum);
  EXPECT_EQ(sum.load(), 64'000);
}

TEST_F(ThreadPoolTest, ManyCallersAtOnce) {
  set_thread_count(4);
  std::vector<std::thread> callers;
  std::atomic<int> good{0};
  for (int t = 0; t < 6; ++t) {
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        Cover cover(2000, 4);
        cover.pause = std::chrono::microseconds(20);
        run_chunks(chunks_of(2000), 4, Cover::body, &cover);
        if (cover.once_each() && !cover.shared_lane) ++good;
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(good.load(), 120);
}

TEST_F(ThreadPoolTest, FirstExceptionComesBackAndThePoolLives) {
  set_thread_count(3);
  const auto body = [](void*, int64_t begin, int64_t, int64_t) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (begin >= 160) throw std::runtime_error("planted");
  };
  for (int i = 0; i < 10; ++i) {
    EXPECT_THROW(run_chunks(chunks_of(1000), 3, body, nullptr), std::runtime_error);
  }
  Cover cover(1000, 3);
  run_chunks(chunks_of(1000), 3, Cover::body, &cover);
  EXPECT_TRUE(cover.once_each());
}

std::atomic<int> g_hook_calls{0};

TEST_F(ThreadPoolTest, LoopsGoThroughTheSuppliedParallelFor) {
  const ParallelFor loop{
      .run =
          [](int64_t begin, int64_t end, void (*body)(void*, int64_t, int64_t), void* context) {
            ++g_hook_calls;
            const int64_t middle = begin + (end - begin) / 2;
            std::thread other([&] { body(context, middle, end); });
            body(context, begin, middle);
            other.join();
          },
      .threads = [] { return 2; }};
  Cover cover(4096, 2);
  cover.pause = std::chrono::microseconds(100);
  {
    const ScopedParallelFor scope(&loop);
    EXPECT_EQ(parallel_lanes(), 2);
    run_chunks(chunks_of(4096), parallel_lanes(), Cover::body, &cover);
  }
  EXPECT_EQ(g_hook_calls.load(), 1);
  EXPECT_TRUE(cover.once_each());
  EXPECT_FALSE(cover.shared_lane);
}

TEST_F(ThreadPoolTest, AForkedChildGetsThreadsOfItsOwn) {
  set_thread_count(3);
  Cover warm(4096, 3);
  warm.pause = std::chrono::microseconds(50);
  run_chunks(chunks_of(4096), 3, Cover::body, &warm);
  const pid_t child = fork();
  if (child == 0) {
    Cover cover(4096, 3);
    cover.pause = std::chrono::microseconds(50);
    run_chunks(chunks_of(4096), 3, Cover::body, &cover);
    _exit(cover.once_each() && thread_count() == 3 && cover.most.load() > 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(ThreadPoolTest, ANegativeCountIsRefused) {
  EXPECT_THROW(set_thread_count(-1), ArgumentValueError);
}

}  // namespace
}  // namespace wt::rt
