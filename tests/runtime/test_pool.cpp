// SPDX-License-Identifier: Apache-2.0
// test_pool.cpp: the pool's rules one by one, and against a model over random programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "csrc/runtime/cpu_device.h"
#include "csrc/runtime/cuda_device.h"
#include "csrc/runtime/pool_allocator.h"
#include "tests/runtime/fake_memory.h"
#include "tests/runtime/host_queue_device.h"

namespace wt::rt {
namespace {

using testing::FakeClock;
using testing::FakeMemory;
using testing::FakeMemoryState;
using ::testing::HasSubstr;

constexpr size_t kMiB = size_t{1} << 20;

Stream stream(uintptr_t i) { return {.handle = reinterpret_cast<void*>(i)}; }

class PoolTest : public ::testing::Test {
 protected:
  void work(Stream s) { state->clock.issue(s); }

  std::shared_ptr<FakeMemoryState> state = std::make_shared<FakeMemoryState>();
  PoolAllocator pool{std::make_unique<FakeMemory>(state)};
  const Stream a = stream(1);
  const Stream b = stream(2);
};

TEST_F(PoolTest, RoundingWastesAtMostAnEighth) {
  EXPECT_EQ(PoolAllocator::rounded(1), 512u);
  EXPECT_EQ(PoolAllocator::rounded(513), 1024u);
  std::mt19937_64 random(3);
  for (int i = 0; i < 10'000; ++i) {
    const size_t n = 1 + random() % (size_t{1} << (10 + random() % 30));
    const size_t r = PoolAllocator::rounded(n);
    EXPECT_GE(r, n);
    EXPECT_EQ(r % 512, 0u);
    EXPECT_EQ(PoolAllocator::rounded(r), r);
    if (n > kMiB) {
      EXPECT_LE(r - n, std::min(n / 8, 2 * kMiB));
    }
  }
}

TEST_F(PoolTest, AFreedBlockIsUsedAgainAtOnceOnItsStream) {
  void* p = pool.alloc(3000, a);
  work(a);
  pool.free(p);
  EXPECT_EQ(pool.alloc(3000, a), p);
  EXPECT_EQ(state->segments.size(), 1u);
}

TEST_F(PoolTest, AnotherStreamGetsABlockOnlyAfterItsEvent) {
  state->capacity = 100 * kMiB;
  void* p = pool.alloc(30 * kMiB, a);
  work(a);
  pool.free(p);
  void* q = pool.alloc(30 * kMiB, b);
  EXPECT_NE(q, p);  // a still works on p.
  state->clock.finish();
  EXPECT_EQ(pool.alloc(30 * kMiB, b), p);
  EXPECT_EQ(state->synchronizations, 0);
}

TEST_F(PoolTest, ShortOfMemoryAStreamWaitsForAnotherWithoutTheHost) {
  state->capacity = 50 * kMiB;
  void* p = pool.alloc(40 * kMiB, a);
  work(a);
  const FakeClock::Point busy = state->clock.now(a);
  pool.free(p);
  EXPECT_EQ(pool.alloc(40 * kMiB, b), p);
  EXPECT_FALSE(state->clock.over(busy));
  EXPECT_TRUE(state->clock.ordered(b, busy));
  EXPECT_EQ(state->synchronizations, 0);
}

TEST_F(PoolTest, UseOnAnotherStreamDelaysReuse) {
  void* p = pool.alloc(3000, a);
  pool.use_on(p, b);
  work(b);
  pool.free(p);
  void* q = pool.alloc(3000, a);
  EXPECT_NE(q, p);
  pool.free(q);
  state->clock.finish();
  EXPECT_EQ(pool.alloc(3000, a), std::min(p, q));
}

TEST_F(PoolTest, BlocksSplitAndMerge) {
  std::vector<void*> parts;
  for (int i = 0; i < 8; ++i) parts.push_back(pool.alloc(128 << 10, a));
  EXPECT_EQ(state->segments.size(), 1u);
  for (const int i : {1, 3, 5, 7, 0, 2, 4, 6}) pool.free(parts[static_cast<size_t>(i)]);
  EXPECT_EQ(pool.stats().inactive_split_bytes.current, 0);
  EXPECT_EQ(pool.alloc(kMiB, a), parts[0]);
}

TEST_F(PoolTest, StatisticsAddUp) {
  void* p = pool.alloc(1000, a);
  AllocatorStats s = pool.stats();
  EXPECT_EQ(s.requested_bytes.current, 1000);
  EXPECT_EQ(s.allocated_bytes.current, 1024);
  EXPECT_EQ(s.reserved_bytes.current, static_cast<int64_t>(2 * kMiB));
  EXPECT_EQ(s.inactive_split_bytes.current, static_cast<int64_t>(2 * kMiB - 1024));
  EXPECT_EQ(s.num_device_alloc, 1);
  pool.use_on(p, b);
  work(b);
  pool.free(p);
  s = pool.stats();
  EXPECT_EQ(s.allocated_bytes.current, 0);
  EXPECT_EQ(s.active_bytes.current, 1024);
  EXPECT_EQ(s.allocated_bytes.peak, 1024);
  EXPECT_EQ(s.allocated_bytes.freed, 1024);
  EXPECT_EQ(pool.trim(), 2 * kMiB);
  s = pool.stats();
  EXPECT_EQ(s.active_bytes.current, 0);
  EXPECT_EQ(s.reserved_bytes.current, 0);
  EXPECT_EQ(s.segment.current, 0);
  EXPECT_EQ(s.inactive_split_bytes.current, 0);
  pool.reset_peaks();
  EXPECT_EQ(pool.stats().reserved_bytes.peak, 0);
}

TEST_F(PoolTest, OutOfMemorySaysTheNumbersAndChangesNothing) {
  state->capacity = 30 * kMiB;
  void* p = pool.alloc(20 * kMiB, a);
  try {
    pool.alloc(20 * kMiB, a);
    FAIL();
  } catch (const OutOfMemoryError& e) {
    EXPECT_EQ(e.requested(), 20 * kMiB);
    EXPECT_THAT(e.what(), HasSubstr("could not allocate 20971520 bytes"));
    EXPECT_THAT(e.what(), HasSubstr("Arrays hold 20971520 bytes"));
  }
  EXPECT_EQ(pool.stats().num_ooms, 1);
  EXPECT_EQ(pool.stats().allocation.current, 1);
  pool.free(p);
  EXPECT_EQ(pool.alloc(20 * kMiB, a), p);
}

TEST_F(PoolTest, CachedSegmentsAreGivenUpBeforeFailing) {
  state->capacity = 30 * kMiB;
  pool.free(pool.alloc(20 * kMiB, a));
  EXPECT_NE(pool.alloc(28 * kMiB, a), nullptr);
  EXPECT_EQ(state->reserved(), 28 * kMiB);
  EXPECT_EQ(pool.stats().num_alloc_retries, 1);
}

TEST_F(PoolTest, TheCallbackMayFreeMemoryElsewhere) {
  state->capacity = 10 * kMiB;
  size_t missing = 0;
  pool.on_out_of_memory([&](size_t bytes) {
    missing = bytes;
    state->capacity = 40 * kMiB;
    return true;
  });
  EXPECT_NE(pool.alloc(20 * kMiB, a), nullptr);
  EXPECT_EQ(missing, 20 * kMiB);
}

TEST_F(PoolTest, MemoryOfACaptureStaysInIt) {
  void* before = pool.alloc(3000, a);
  pool.free(before);
  state->captures[a.handle] = 7;
  void* p = pool.alloc(3000, a);
  EXPECT_NE(p, before);
  pool.free(p);
  EXPECT_EQ(pool.alloc(3000, a), p);  // In order inside the capture.
  pool.free(p);
  state->captures.clear();
  EXPECT_EQ(pool.alloc(3000, a), before);
  EXPECT_NE(pool.alloc(3000, a), p);  // The graph will be replayed.
  pool.trim();
  EXPECT_EQ(state->segments.size(), 2u);
  pool.release_capture(7);
  EXPECT_EQ(pool.trim(), 2 * kMiB);
}

TEST_F(PoolTest, AStreamUnderCaptureIsNeverGivenAnEvent) {
  void* p = pool.alloc(3000, a);
  pool.use_on(p, b);
  work(b);
  state->captures[b.handle] = 9;
  pool.free(p);
  EXPECT_NE(pool.alloc(3000, a), p);
  state->captures.clear();
  state->clock.finish();
  void* q = pool.alloc(3000, a);  // The event is recorded now, and over at once.
  EXPECT_EQ(q, p);
}

TEST_F(PoolTest, FreeingTwiceOrNullIsHarmless) {
  void* p = pool.alloc(10, a);
  pool.free(p);
  pool.free(p);
  pool.free(nullptr);
  EXPECT_EQ(pool.alloc(0, a), nullptr);
  EXPECT_EQ(pool.stats().allocation.current, 0);
  EXPECT_THROW(pool.use_on(p, a), InternalError);
}

TEST_F(PoolTest, AThousandStepsOfChangingSizesDoNotGrow) {
  std::mt19937_64 random(17);
  std::vector<void*> state_arrays;
  int64_t reserved = 0;
  for (int step = 0; step < 1000; ++step) {
    std::vector<void*> arrays;
    for (int i = 0; i < 20; ++i) {
      arrays.push_back(pool.alloc(1 + random() % (8 * kMiB), a));
    }
    if (step % 50 == 0) {
      state_arrays.push_back(pool.alloc(64 << 10, a));  // Long-lived ones in between.
    }
    std::shuffle(arrays.begin(), arrays.end(), random);
    for (void* p : arrays) pool.free(p);
    if (step == 100) reserved = pool.stats().reserved_bytes.current;
  }
  EXPECT_LE(pool.stats().reserved_bytes.current, reserved + reserved / 4);
  EXPECT_EQ(pool.stats().num_alloc_retries, 0);
}

class RangePoolTest : public ::testing::Test {
 protected:
  RangePoolTest() {
    state->range_step = 2 * kMiB;
    pool = std::make_unique<PoolAllocator>(std::make_unique<FakeMemory>(state));
  }
  std::shared_ptr<FakeMemoryState> state = std::make_shared<FakeMemoryState>();
  std::unique_ptr<PoolAllocator> pool;
  const Stream a = stream(1);
};

TEST_F(RangePoolTest, FreeNeighboursMakeRoomForALargerBlock) {
  state->capacity = 100 * kMiB;
  std::vector<void*> parts;
  for (int i = 0; i < 5; ++i) parts.push_back(pool->alloc(20 * kMiB, a));
  EXPECT_EQ(state->segments.size(), 1u);
  for (void* p : parts) pool->free(p);
  EXPECT_EQ(pool->alloc(96 * kMiB, a), parts[0]);  // With fixed segments this needs a trim.
  EXPECT_EQ(pool->stats().num_alloc_retries, 0);
}

TEST_F(RangePoolTest, GrowsByWhatTheLastFreeBlockLacks) {
  state->capacity = 64 * kMiB;
  void* p = pool->alloc(40 * kMiB, a);
  pool->free(p);
  EXPECT_EQ(pool->alloc(64 * kMiB, a), p);
  EXPECT_EQ(state->reserved(), 64 * kMiB);
}

TEST_F(RangePoolTest, TrimGivesBackTheEnd) {
  void* low = pool->alloc(30 * kMiB, a);
  void* high = pool->alloc(30 * kMiB, a);
  pool->free(high);
  EXPECT_EQ(pool->trim(), 30 * kMiB);
  EXPECT_EQ(state->reserved(), 30 * kMiB);
  EXPECT_EQ(pool->alloc(30 * kMiB, a), high);
  pool->free(low);
  pool->free(high);
  EXPECT_EQ(pool->trim(), 60 * kMiB);
  EXPECT_EQ(pool->stats().segment.current, 0);
  EXPECT_EQ(pool->stats().inactive_split_bytes.current, 0);
}

TEST_F(RangePoolTest, CapturesAndSmallBlocksHaveSegmentsOfTheirOwn) {
  pool->alloc(1000, a);
  pool->alloc(20 * kMiB, a);
  state->captures[a.handle] = 3;
  pool->alloc(20 * kMiB, a);
  EXPECT_EQ(state->segments.size(), 3u);
}

/// A random program against a model that knows who has used which bytes, and when.
class Model {
 public:
  Model(uint64_t seed, size_t range_step) : random_(seed) {
    state_->capacity = 200 * kMiB;
    state_->range_step = range_step;
    pool_ = std::make_unique<PoolAllocator>(std::make_unique<FakeMemory>(state_));
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      const int choice = static_cast<int>(random_() % 100);
      if (choice < 40) {
        alloc();
      } else if (choice < 65) {
        free_one();
      } else if (choice < 85) {
        use();
      } else if (choice < 97) {
        state_->clock.advance(any_stream(), static_cast<int64_t>(random_() % 4));
      } else if (choice < 99) {
        pool_->trim();
      } else {
        state_->clock.finish();
      }
      check_statistics();
    }
    while (!live_.empty()) free_one();
    pool_->trim();
    EXPECT_TRUE(state_->segments.empty());
    EXPECT_EQ(pool_->stats().reserved_bytes.current, 0);
    EXPECT_EQ(pool_->stats().active_bytes.current, 0);
    pool_.reset();
  }

 private:
  struct Live {
    char* ptr;
    size_t bytes;
    Stream home;
  };
  struct Use {
    char* begin;
    char* end;
    FakeClock::Point at;
  };

  Stream any_stream() { return stream(1 + random_() % 3); }

  void alloc() {
    const Stream s = any_stream();
    const size_t bytes = 1 + random_() % (size_t{1} << (6 + random_() % 20));
    void* ptr = nullptr;
    try {
      ptr = pool_->alloc(bytes, s);
    } catch (const OutOfMemoryError&) {
      return;
    }
    char* begin = static_cast<char*>(ptr);
    char* end = begin + bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(begin) % 512, 0u);
    auto segment = state_->segments.upper_bound(begin);
    ASSERT_NE(segment, state_->segments.begin());
    --segment;
    EXPECT_LE(end, segment->first + segment->second);
    for (const Live& l : live_) EXPECT_TRUE(end <= l.ptr || l.ptr + l.bytes <= begin);
    // Whoever used these bytes has finished, or comes first.
    for (const Use& u : uses_) {
      if (end <= u.begin || u.end <= begin) continue;
      EXPECT_TRUE(state_->clock.ordered(s, u.at)) << "a stream may still use the memory";
    }
    std::erase_if(uses_, [&](const Use& u) { return state_->clock.over(u.at); });
    live_.push_back({begin, bytes, s});
  }

  void free_one() {
    if (live_.empty()) return;
    const size_t i = random_() % live_.size();
    pool_->free(live_[i].ptr);
    live_.erase(live_.begin() + static_cast<ptrdiff_t>(i));
  }

  void use() {
    if (live_.empty()) return;
    const Live& l = live_[random_() % live_.size()];
    const Stream s = random_() % 3 == 0 ? any_stream() : l.home;
    if (s != l.home) pool_->use_on(l.ptr, s);
    uses_.push_back({l.ptr, l.ptr + l.bytes, state_->clock.issue(s)});
  }

  void check_statistics() {
    const AllocatorStats s = pool_->stats();
    size_t requested = 0;
    for (const Live& l : live_) requested += l.bytes;
    EXPECT_EQ(s.requested_bytes.current, static_cast<int64_t>(requested));
    EXPECT_EQ(s.allocation.current, static_cast<int64_t>(live_.size()));
    EXPECT_EQ(s.reserved_bytes.current, static_cast<int64_t>(state_->reserved()));
    EXPECT_EQ(s.segment.current, static_cast<int64_t>(state_->segments.size()));
    EXPECT_GE(s.allocated_bytes.current, s.requested_bytes.current);
    EXPECT_GE(s.active_bytes.current, s.allocated_bytes.current);
    EXPECT_LE(s.active_bytes.current + s.inactive_split_bytes.current, s.reserved_bytes.current);
    EXPECT_GE(s.inactive_split_bytes.current, 0);
  }

  std::mt19937_64 random_;
  std::shared_ptr<FakeMemoryState> state_ = std::make_shared<FakeMemoryState>();
  std::unique_ptr<PoolAllocator> pool_;
  std::vector<Live> live_;
  std::vector<Use> uses_;
};

TEST(PoolModel, RandomProgramsAgree) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Model(seed, seed % 2 == 0 ? 0 : 2 * kMiB).run(800);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(AllocatorAdaptors, LimitRefusesAndRecovers) {
  auto state = std::make_shared<FakeMemoryState>();
  LimitAllocator limited(std::make_shared<PoolAllocator>(std::make_unique<FakeMemory>(state)),
                         1000);
  void* p = limited.alloc(600, {});
  try {
    limited.alloc(401, {});
    FAIL();
  } catch (const OutOfMemoryError& e) {
    EXPECT_THAT(e.what(), HasSubstr("the limit is 1000 bytes and 600 of them are in use"));
  }
  EXPECT_NE(limited.alloc(400, {}), nullptr);
  limited.free(p);
  EXPECT_EQ(limited.used(), 400u);
  state->fail_next_reserves = 100;
  EXPECT_THROW(limited.alloc(600 << 20, {}), OutOfMemoryError);
  EXPECT_EQ(limited.used(), 400u);
}

TEST(AllocatorAdaptors, FaultsAndLogsStack) {
  auto state = std::make_shared<FakeMemoryState>();
  std::vector<LogAllocator::Record> records;
  auto log = std::make_shared<LogAllocator>(
      std::make_shared<PoolAllocator>(std::make_unique<FakeMemory>(state)),
      [&](const LogAllocator::Record& r) { records.push_back(r); });
  FaultAllocator faulty(log, [](int64_t n) { return n == 1; });
  void* p = faulty.alloc(10, stream(3));
  EXPECT_THROW(faulty.alloc(20, {}), OutOfMemoryError);
  faulty.free(p);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].bytes, 10u);
  EXPECT_EQ(records[0].stream, stream(3));
  EXPECT_EQ(records[1].ptr, p);
  EXPECT_EQ(faulty.stats().allocation.current, 0);
}

/// The same code over a real device: memory is usable and work on it is not overtaken.
void exercise(Device& device) {
  PoolAllocator pool(memory_source_of(device));
  const Stream streams[] = {device.create_stream(), device.create_stream()};
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const Stream s = streams[random() % 2];
    const size_t n = 1 + random() % 300'000;
    const int value = round;
    void* p = pool.alloc(n * 4, s);
    device.fill(p, &value, 4, n, s);
    void* q = pool.alloc(n * 4, s);
    device.copy(q, p, n * 4, s);
    pool.free(p);
    std::vector<int> got(n);
    device.copy(got.data(), q, n * 4, s);
    pool.free(q);
    device.synchronize(s);
    EXPECT_EQ(got, std::vector<int>(n, value));
  }
  EXPECT_EQ(pool.stats().allocation.current, 0);
  EXPECT_GT(pool.trim(), 0u);
  EXPECT_EQ(pool.stats().reserved_bytes.current, 0);
  for (const Stream s : streams) device.destroy_stream(s);
}

TEST(PoolOnDevice, Cpu) { exercise(cpu_device()); }

TEST(PoolOnDevice, Queue) {
  testing::HostQueueDevice device(size_t{256} << 20);
  exercise(device);
  device.synchronize();
  EXPECT_EQ(device.live_blocks(), 0u);
  EXPECT_EQ(device.broken_fences(), 0);
}

TEST(PoolOnDevice, Cuda) {
  if (cuda_device_count() == 0) GTEST_SKIP() << cuda_absence();
  exercise(cuda_device(0));
}

TEST(PoolOnDevice, TheDefaultCanBeReplaced) {
  Device& cpu = cpu_device();
  const std::shared_ptr<Allocator> before = allocator_of(cpu);
  EXPECT_EQ(before, allocator_of(cpu));
  auto limited = std::make_shared<LimitAllocator>(before, 100);
  set_allocator(cpu, limited);
  EXPECT_THROW(allocator_of(cpu)->alloc(101, {}), OutOfMemoryError);
  set_allocator(cpu, before);
  void* p = allocator_of(cpu)->alloc(101, {});
  allocator_of(cpu)->free(p);
}

}  // namespace
}  // namespace wt::rt
