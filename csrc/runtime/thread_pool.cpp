// SPDX-License-Identifier: Apache-2.0
// thread_pool.cpp: workers that take chunks from the loops in flight.
#include "csrc/runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "csrc/codegen/support/error.h"
#include "csrc/codegen/support/error_table.h"

namespace wt::rt {
namespace {

constexpr int64_t kChunkMultiple =
    16;                               // Widest vector of floats: no chunk but the last has a tail.
constexpr int64_t kChunkTarget = 64;  // Chunks of a middle-sized loop.
constexpr int64_t kChunkLargest = 4096;
constexpr int64_t kWakeNanoseconds = 8000;  // Waking a thread costs about this much.
constexpr int64_t kTellNanoseconds = 1000;  // Less says nothing: a first chunk waits for memory.
constexpr int kSpins = 2000;

thread_local const ParallelFor* t_loop = nullptr;
thread_local int t_depth = 0;  // Bodies on this thread's stack.

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

struct DepthScope {
  DepthScope() { ++t_depth; }
  ~DepthScope() { --t_depth; }
};

/// A loop in flight; lives on the caller's stack.
struct Job {
  Chunks chunks;
  ChunkBody body = nullptr;
  void* context = nullptr;
  int64_t lanes = 1;
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> next_lane{1};  // Lane 0 is the caller.
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // Written by the one that set `failed`.
  int workers = 0;           // Inside take(); guarded by the pool's mutex.
  Job* next_job = nullptr;   // Guarded by the pool's mutex.

  void run_one(int64_t chunk, int64_t lane) {
    body(context, chunks.begin(chunk), chunks.end(chunk), lane);
  }
  void fail() noexcept {
    if (!failed.exchange(true)) error = std::current_exception();
    next.store(chunks.count);
  }
  /// Takes chunks until none is left. Several at a time while many are left, to spare the counter.
  void take(int64_t lane) noexcept {
    const DepthScope depth;
    try {
      while (true) {
        const int64_t left = chunks.count - next.load(std::memory_order_relaxed);
        if (left <= 0) return;
        const int64_t step = std::max<int64_t>(1, left / (4 * lanes));
        const int64_t first = next.fetch_add(step, std::memory_order_relaxed);
        const int64_t last = std::min(first + step, chunks.count);
        for (int64_t c = first; c < last && !failed.load(std::memory_order_relaxed); ++c) {
          run_one(c, lane);
        }
      }
    } catch (...) {
      fail();
    }
  }
  bool open() const {
    return next.load(std::memory_order_relaxed) < chunks.count &&
           next_lane.load(std::memory_order_relaxed) < lanes;
  }
};

class ThreadPool {
 public:
  /// Runs what is left of `job` with the workers; the caller is lane 0.
  void run(Job& job) {
    {
      const std::lock_guard lock(mutex_);
      start_threads();
      job.next_job = jobs_;
      jobs_ = &job;
      open_.fetch_add(1, std::memory_order_relaxed);
    }
    if (job.lanes > 2 && job.chunks.count - job.next.load() > 2) {
      wake_.notify_all();
    } else {
      wake_.notify_one();
    }
    job.take(0);
    std::unique_lock lock(mutex_);
    remove(&job);
    idle_.wait(lock, [&] { return job.workers == 0; });
  }

  void resize(int threads) {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return jobs_ == nullptr; });
    stop_threads(lock);
    count_.store(threads > 0 ? threads : default_count(), std::memory_order_relaxed);
  }

  int count() const { return count_.load(std::memory_order_relaxed); }
  std::mutex& mutex() { return mutex_; }

 private:
  static int default_count() {
    if (const char* text = std::getenv("WT_NUM_THREADS")) {
      const int n = std::atoi(text);
      if (n > 0) return n;
    }
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }

  void start_threads() {
    while (static_cast<int>(threads_.size()) < count() - 1) {
      threads_.emplace_back([this] { work(); });
    }
  }

  void stop_threads(std::unique_lock<std::mutex>& lock) {
    stopping_ = true;
    wake_.notify_all();
    std::vector<std::thread> old;
    old.swap(threads_);
    lock.unlock();
    for (std::thread& t : old) t.join();
    lock.lock();
    stopping_ = false;
  }

  void remove(Job* job) {
    Job** at = &jobs_;
    while (*at != job) at = &(*at)->next_job;
    *at = job->next_job;
    open_.fetch_sub(1, std::memory_order_relaxed);
    if (jobs_ == nullptr) idle_.notify_all();
  }

  Job* find_open() {
    for (Job* job = jobs_; job != nullptr; job = job->next_job) {
      if (job->open()) return job;
    }
    return nullptr;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      Job* job = find_open();
      if (job == nullptr) {
        lock.unlock();
        // A step of a simulation is many short loops; the next one often comes at once.
        for (int i = 0; i < kSpins && open_.load(std::memory_order_relaxed) == 0; ++i) pause_cpu();
        lock.lock();
        if (find_open() == nullptr && !stopping_) wake_.wait(lock);
        continue;
      }
      const int64_t lane = job->next_lane.fetch_add(1, std::memory_order_relaxed);
      if (lane >= job->lanes) continue;
      ++job->workers;
      lock.unlock();
      job->take(lane);
      lock.lock();
      if (--job->workers == 0) idle_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;  // For workers: a job came, or stop.
  std::condition_variable idle_;  // For callers: a job lost its last worker.
  std::vector<std::thread> threads_;
  Job* jobs_ = nullptr;
  std::atomic<int> open_{0};
  std::atomic<int> count_{default_count()};
  bool stopping_ = false;
};

// The pool is never destroyed: loops may run while static objects are torn down. After fork() the
// child has none of the threads, so it gets a fresh pool and the old one is left as it is.
std::atomic<ThreadPool*> g_pool{nullptr};

void before_fork() {
  if (ThreadPool* p = g_pool.load()) p->mutex().lock();
}
void after_fork_parent() {
  if (ThreadPool* p = g_pool.load()) p->mutex().unlock();
}
void after_fork_child() {
  ThreadPool* old = g_pool.load();
  if (old == nullptr) return;
  const int count = old->count();
  auto* fresh = new ThreadPool;
  fresh->resize(count);
  g_pool.store(fresh);
  t_depth = 0;
}

ThreadPool& pool() {
  if (ThreadPool* p = g_pool.load(std::memory_order_acquire)) return *p;
  static std::once_flag once;
  std::call_once(once, [] {
    g_pool.store(new ThreadPool, std::memory_order_release);
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
  });
  return *g_pool.load(std::memory_order_acquire);
}

/// The lanes of a loop that runs on somebody else's threads.
class LaneSet {
 public:
  static constexpr int64_t kMost = 1024;
  explicit LaneSet(int64_t lanes) : lanes_(std::min(lanes, kMost)) {}

  int64_t claim() {
    while (true) {
      for (int64_t lane = 0; lane < lanes_; ++lane) {
        std::atomic<uint64_t>& word = used_[lane / 64];
        const uint64_t bit = uint64_t{1} << (lane % 64);
        if ((word.load(std::memory_order_relaxed) & bit) != 0) continue;
        if ((word.fetch_or(bit, std::memory_order_acquire) & bit) == 0) return lane;
      }
      sched_yield();
    }
  }
  void release(int64_t lane) {
    used_[lane / 64].fetch_and(~(uint64_t{1} << (lane % 64)), std::memory_order_release);
  }

 private:
  int64_t lanes_;
  std::atomic<uint64_t> used_[kMost / 64]{};
};

struct HookContext {
  Job* job;
  LaneSet lanes;
};

void hook_body(void* context, int64_t begin, int64_t end) {
  auto& hook = *static_cast<HookContext*>(context);
  const DepthScope depth;
  const int64_t lane = hook.lanes.claim();
  try {
    for (int64_t c = begin; c < end && !hook.job->failed.load(); ++c) hook.job->run_one(c, lane);
  } catch (...) {
    hook.job->fail();
  }
  hook.lanes.release(lane);
}

/// Runs chunks on the calling thread until the rest is worth waking others; returns how many ran.
int64_t run_alone(Job& job) {
  const DepthScope depth;
  const int64_t count = job.chunks.count;
  if (job.lanes <= 1 || count <= 1) {
    for (int64_t c = 0; c < count; ++c) job.run_one(c, 0);
    return count;
  }
  const int64_t start = now_ns();
  int64_t look = 1;  // The clock is read after 1, 2, 4, ... chunks.
  for (int64_t c = 0; c < count;) {
    job.run_one(c, 0);
    if (++c != look || c == count) continue;
    look *= 2;
    const int64_t took = now_ns() - start;
    if (took < kTellNanoseconds) continue;
    const double per_chunk = static_cast<double>(took) / static_cast<double>(c);
    if (per_chunk * static_cast<double>(count - c) > kWakeNanoseconds) return c;
  }
  return count;
}

}  // namespace

Chunks chunks_of(int64_t total) {
  if (total <= 0) return {};
  int64_t size = (total + kChunkTarget - 1) / kChunkTarget;
  size = (size + kChunkMultiple - 1) / kChunkMultiple * kChunkMultiple;
  size = std::min(size, kChunkLargest);
  return {.total = total, .size = size, .count = (total + size - 1) / size};
}

ScopedParallelFor::ScopedParallelFor(const ParallelFor* loop) : previous_(t_loop) { t_loop = loop; }
ScopedParallelFor::~ScopedParallelFor() { t_loop = previous_; }

int64_t parallel_lanes() {
  if (t_depth > 0) return 1;
  if (t_loop != nullptr) return std::clamp<int64_t>(t_loop->threads(), 1, LaneSet::kMost);
  return pool().count();
}

void run_chunks(const Chunks& chunks, int64_t lanes, ChunkBody body, void* context) {
  if (chunks.count == 0) return;
  Job job;
  job.chunks = chunks;
  job.body = body;
  job.context = context;
  job.lanes = t_depth > 0 ? 1 : std::min(lanes, parallel_lanes());
  const int64_t done = run_alone(job);
  if (done == chunks.count) return;
  job.next.store(done, std::memory_order_relaxed);
  if (t_loop != nullptr) {
    HookContext hook{&job, LaneSet(job.lanes)};
    t_loop->run(done, chunks.count, hook_body, &hook);
  } else {
    pool().run(job);
  }
  if (job.error) std::rethrow_exception(job.error);
}

void set_thread_count(int threads) {
  if (threads < 0) {
    throw ArgumentValueError(
        coded("WT713"),
        cat("set_thread_count: threads must be 0 (default) or more, got ", threads));
  }
  WT_CHECK(t_depth == 0, "the number of threads was changed from inside a loop");
  pool().resize(threads);
}

int thread_count() { return pool().count(); }

}  // namespace wt::rt
