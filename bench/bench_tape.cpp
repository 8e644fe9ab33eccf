// SPDX-License-Identifier: Apache-2.0
// bench_tape.cpp: what recording a launch and running its adjoint add to the launch itself.
#include <benchmark/benchmark.h>

#include "csrc/autograd/record.h"
#include "csrc/autograd/tape.h"
#include "tests/autograd/taped_kernels.h"

namespace {

using namespace wt::autograd;  // NOLINT: a program, not a header.

wt::rt::Array values(int64_t n) {
  return testing::array(std::vector<double>(static_cast<size_t>(n), 1.0));
}

void launch_off_tape(benchmark::State& state) {
  const auto kernel = testing::kernel(testing::kSquare);
  const testing::Arrays arrays = {values(state.range(0)), values(state.range(0))};
  for (auto _ : state) launch(testing::call(kernel, arrays));
}
BENCHMARK(launch_off_tape)->Arg(1)->Arg(1 << 16)->UseRealTime();

/// A step of a simulation: recorded, differentiated and dropped.
void record_and_run(benchmark::State& state, std::string_view text) {
  const auto kernel = testing::kernel(text);
  const size_t params = kernel->info().params.size();
  testing::Arrays arrays;
  for (size_t i = 0; i < params; ++i) arrays.push_back(values(state.range(0)));
  for (auto _ : state) {
    Tape tape;
    push_tape(&tape);
    for (int64_t i = 0; i < state.range(1); ++i) launch(testing::call(kernel, arrays));
    pop_tape(&tape);
    tape.backward(nullptr, {});
  }
  state.SetItemsProcessed(state.iterations() * state.range(1));
}
BENCHMARK_CAPTURE(record_and_run, overwriting, testing::kSquare)
    ->ArgsProduct({{1, 1 << 16}, {1, 100}})
    ->ArgNames({"n", "launches"})
    ->UseRealTime();
BENCHMARK_CAPTURE(record_and_run, in_place, testing::kSquareInPlace)
    ->ArgsProduct({{1, 1 << 16}, {1, 100}})
    ->ArgNames({"n", "launches"})
    ->UseRealTime();
BENCHMARK_CAPTURE(record_and_run, linear, testing::kAdd)
    ->ArgsProduct({{1, 1 << 16}, {1, 100}})
    ->ArgNames({"n", "launches"})
    ->UseRealTime();

}  // namespace
