// SPDX-License-Identifier: Apache-2.0
// bench_launch.cpp: what a launch costs, on the CPU and (where there is one) on a GPU.
#include <benchmark/benchmark.h>

#include "csrc/runtime/cpu_device.h"
#include "csrc/runtime/cuda_device.h"
#include "csrc/runtime/driver/nvrtc.h"
#include "csrc/runtime/host_compiler.h"
#include "csrc/runtime/launch.h"
#include "csrc/runtime/thread_pool.h"
#include "tests/runtime/kernels.h"

namespace {

using namespace wt::rt;  // NOLINT: a program, not a header.
using testing::AxpyArgs;

struct Prepared {
  PreparedKernel kernel;
  ArgBlock args{sizeof(AxpyArgs)};
  LaunchShape shape;
};

Prepared prepare(Device& device, const Binary& binary, int64_t n) {
  Prepared p;
  p.kernel = PreparedKernel(device, device.load(binary), "axpy");
  const auto bytes = static_cast<size_t>(n) * 4;
  for (const size_t offset : {offsetof(AxpyArgs, in), offsetof(AxpyArgs, out)}) {
    WtArray array{};
    array.data = static_cast<char*>(device.alloc(bytes, {}));
    array.shape[0] = n;
    array.stride[0] = 4;
    array.ndim = 1;
    const float one = 1;
    device.fill(array.data, &one, 4, static_cast<size_t>(n), {});
    p.args.set(offset, array);
  }
  p.shape.dim[0] = n;
  p.kernel.prepare(p.shape, p.args);
  return p;
}

void cpu_launch(benchmark::State& state) {
  set_thread_count(static_cast<int>(state.range(1)));
  static const Binary binary = compile_host(find_host_compiler(), testing::kCpuKernels, "bench");
  const Prepared p = prepare(cpu_device(), binary, state.range(0));
  for (auto _ : state) p.kernel.launch(p.shape, p.args, {});
  state.SetBytesProcessed(state.iterations() * state.range(0) * 12);
  set_thread_count(0);
}
BENCHMARK(cpu_launch)
    ->ArgsProduct({{1, 1024, 1 << 16, 1 << 22}, {1, 2}})
    ->ArgNames({"n", "threads"})
    ->UseRealTime();

void plan_and_pack(benchmark::State& state) {
  static const Binary binary = compile_host(find_host_compiler(), testing::kCpuKernels, "bench");
  Prepared p = prepare(cpu_device(), binary, 1024);
  for (auto _ : state) {
    p.kernel.prepare(p.shape, p.args);
    benchmark::DoNotOptimize(p.args.data());
  }
}
BENCHMARK(plan_and_pack);

void cuda_launch(benchmark::State& state) {
  if (cuda_device_count() == 0) {
    state.SkipWithError(cuda_absence().c_str());
    return;
  }
  Device& device = cuda_device(0);
  const DeviceProperties& d = device.properties();
  static const Binary binary =
      compile_nvrtc(testing::kCudaKernels, "bench", {.arch = nvrtc_arch(d.cc_major, d.cc_minor)});
  const Prepared p = prepare(device, binary, state.range(0));
  for (auto _ : state) p.kernel.launch(p.shape, p.args, {});
  device.synchronize();
  state.SetBytesProcessed(state.iterations() * state.range(0) * 12);
}
BENCHMARK(cuda_launch)->Arg(1024)->Arg(1 << 20)->Arg(1 << 26)->UseRealTime();

}  // namespace
