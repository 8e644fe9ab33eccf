// SPDX-License-Identifier: Apache-2.0
// thread_pool.h: CPU loops over fixed chunks. Chunk boundaries depend on the range alone, never on
// the number of threads, so sums made per chunk are the same on every machine.
#pragma once

#include <cstdint>

#include "csrc/codegen/support/api.h"

namespace wt::rt {

/// How [0, total) is cut.
struct Chunks {
  int64_t total = 0;
  int64_t size = 1;  ///< All chunks but the last have this size, a multiple of 16.
  int64_t count = 0;

  int64_t begin(int64_t chunk) const { return chunk * size; }
  int64_t end(int64_t chunk) const { return chunk + 1 == count ? total : (chunk + 1) * size; }
};
Chunks chunks_of(int64_t total);

/// A chunk body. `lane` is in [0, lanes) and no two bodies of one loop that run at the same time
/// share it.
using ChunkBody = void (*)(void* context, int64_t begin, int64_t end, int64_t lane);

/// A loop supplied from outside, so that inside a framework's op its own threads are used.
/// run() must call body(context, b, e) over disjoint parts that cover [begin, end) and return when
/// all are done; threads() bounds how many run at once.
struct ParallelFor {
  void (*run)(int64_t begin, int64_t end, void (*body)(void* context, int64_t b, int64_t e),
              void* context) = nullptr;
  int (*threads)() = nullptr;
};

/// While it lives, loops of this thread go through `loop`. Nests; `loop` must outlive it.
class ScopedParallelFor {
 public:
  explicit ScopedParallelFor(const ParallelFor* loop);
  ~ScopedParallelFor();
  ScopedParallelFor(const ScopedParallelFor&) = delete;
  ScopedParallelFor& operator=(const ScopedParallelFor&) = delete;

 private:
  const ParallelFor* previous_;
};

/// Threads that a loop of the calling thread may use now, itself included: 1 inside a loop body.
int64_t parallel_lanes();

/// Runs all chunks with at most `lanes` at once and returns when they are done. Starts on the
/// calling thread and wakes others only when what is left is worth it. May be called from any
/// thread, from several at once, and from a body (then it runs on the calling thread alone). The
/// first exception that a body throws is rethrown after the others have stopped.
void run_chunks(const Chunks& chunks, int64_t lanes, ChunkBody body, void* context);

/// Number of threads, the caller's included. 0 restores the default: WT_NUM_THREADS, else the
/// processors that this process may run on. Waits for running loops.
WT_API void set_thread_count(int threads);
WT_API int thread_count();

}  // namespace wt::rt
