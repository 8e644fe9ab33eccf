// SPDX-License-Identifier: Apache-2.0
// bench_cache.cpp: what it costs to find a module again: in memory, on disk, and hashing its text.
#include <benchmark/benchmark.h>

#include "csrc/codegen/support/hash.h"
#include "csrc/codegen/support/text.h"
#include "csrc/runtime/disk_cache.h"
#include "csrc/runtime/module_cache.h"
#include "csrc/runtime/process.h"

namespace {

using namespace wt::rt;  // NOLINT: a program, not a header.

class NoModule : public Executable {
 public:
  const Entry* entry(std::string_view) override { return nullptr; }
  void plan(const Entry*, LaunchShape&) override {}
  void launch(const Entry*, const LaunchShape&, const void*, size_t, Stream) override {}
};

ModuleCache& filled() {
  static ModuleCache* cache = [] {
    auto* made = new ModuleCache;
    for (int i = 0; i < 1000; ++i) {
      made->get(wt::hash128(wt::cat(i)), [] { return std::make_shared<NoModule>(); });
    }
    return made;
  }();
  return *cache;
}

void memory_find(benchmark::State& state) {
  const wt::Hash128 key = wt::hash128("500");
  for (auto _ : state) benchmark::DoNotOptimize(filled().find(key));
}
BENCHMARK(memory_find)->Threads(1)->Threads(2);

void disk_get(benchmark::State& state) {
  const TemporaryFolder folder;
  DiskCache cache(folder.path() + "/cache");
  const std::string key = wt::hash128("k").hex();
  cache.put(key, std::string(static_cast<size_t>(state.range(0)), 'x'));
  for (auto _ : state) benchmark::DoNotOptimize(cache.get(key));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(disk_get)->Arg(16 << 10)->Arg(1 << 20);

void disk_put(benchmark::State& state) {
  const TemporaryFolder folder;
  DiskCache cache(folder.path() + "/cache");
  const std::string data(static_cast<size_t>(state.range(0)), 'x');
  int64_t i = 0;
  for (auto _ : state) cache.put(wt::hash128(wt::cat(++i % 100)).hex(), data);
}
BENCHMARK(disk_put)->Arg(16 << 10);

void hash_text(benchmark::State& state) {
  const std::string text(static_cast<size_t>(state.range(0)), 'x');
  for (auto _ : state) benchmark::DoNotOptimize(wt::hash128(text));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(hash_text)->Arg(4 << 10)->Arg(1 << 20);

}  // namespace
