// SPDX-License-Identifier: Apache-2.0
// bench_pool.cpp: what an allocation costs, and what a long run of changing sizes keeps.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>

#include "csrc/runtime/cpu_device.h"
#include "csrc/runtime/cuda_device.h"
#include "csrc/runtime/pool_allocator.h"

namespace {

using namespace wt::rt;  // NOLINT: a program, not a header.

Device* device_for(benchmark::State& state, int64_t which) {
  if (which == 0) return &cpu_device();
  if (cuda_device_count() > 0) return &cuda_device(0);
  state.SkipWithError(cuda_absence().c_str());
  return nullptr;
}

void alloc_free(benchmark::State& state) {
  Device* device = device_for(state, state.range(0));
  if (device == nullptr) return;
  PoolAllocator pool(memory_source_of(*device));
  const auto bytes = static_cast<size_t>(state.range(1));
  for (auto _ : state) pool.free(pool.alloc(bytes, {}));
}
BENCHMARK(alloc_free)->ArgsProduct({{0, 1}, {4096, 64 << 20}})->ArgNames({"cuda", "bytes"});

/// The device's own allocation, for comparison.
void device_alloc_free(benchmark::State& state) {
  Device* device = device_for(state, state.range(0));
  if (device == nullptr) return;
  const auto bytes = static_cast<size_t>(state.range(1));
  for (auto _ : state) device->free(device->alloc(bytes, {}), bytes, {});
}
BENCHMARK(device_alloc_free)->ArgsProduct({{0, 1}, {4096, 64 << 20}})->ArgNames({"cuda", "bytes"});

/// 1,000 steps of 20 arrays of random size, freed in random order.
void variable_sizes(benchmark::State& state) {
  Device* device = device_for(state, state.range(0));
  if (device == nullptr) return;
  PoolAllocator pool(memory_source_of(*device));
  std::mt19937_64 random(17);
  std::vector<void*> arrays;
  for (auto _ : state) {
    for (int step = 0; step < 1000; ++step) {
      for (int i = 0; i < 20; ++i) arrays.push_back(pool.alloc(1 + random() % (8 << 20), {}));
      std::shuffle(arrays.begin(), arrays.end(), random);
      for (void* p : arrays) pool.free(p);
      arrays.clear();
    }
  }
  const AllocatorStats s = pool.stats();
  state.SetItemsProcessed(state.iterations() * 20'000);
  state.counters["peak_allocated"] = static_cast<double>(s.allocated_bytes.peak);
  state.counters["peak_reserved"] = static_cast<double>(s.reserved_bytes.peak);
  state.counters["retries"] = static_cast<double>(s.num_alloc_retries);
  state.counters["device_allocs"] = static_cast<double>(s.num_device_alloc);
}
BENCHMARK(variable_sizes)->Arg(0)->Arg(1)->ArgName("cuda")->Unit(benchmark::kMillisecond);

}  // namespace
