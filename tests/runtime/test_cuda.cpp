// SPDX-License-Identifier: Apache-2.0
// test_cuda.cpp: what only a GPU can show: captures, contexts, fork, failed kernels.
#include <cuda.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/allocator.h"
#include "csrc/runtime/cuda_device.h"
#include "csrc/runtime/driver/nvrtc.h"
#include "csrc/runtime/launch.h"
#include "csrc/runtime/pool_allocator.h"
#include "tests/runtime/kernels.h"
#include "tests/runtime/nvrtc_folders.h"

namespace wt::rt {
namespace {

using ::testing::HasSubstr;

template <class F>
F* symbol(const char* name) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<F*>(dlsym(library, name));
}

Binary compiled(std::string_view text, std::string_view arch = {}) {
  testing::use_nvrtc_of_the_build();
  const DeviceProperties& p = cuda_device(0).properties();
  return compile_nvrtc(
      text, "test",
      {.arch = arch.empty() ? nvrtc_arch(p.cc_major, p.cc_minor) : std::string(arch)});
}

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << cuda_absence();
    device_ = &cuda_device(0);
    stream_ = device_->create_stream();
    module_ = device_->load(compiled(testing::kCudaKernels));
  }
  void TearDown() override {
    if (device_ == nullptr) return;
    device_->synchronize();
    device_->destroy_stream(stream_);
  }

  float* floats(float value) {
    void* p = device_->alloc(kN * 4, stream_);
    device_->fill(p, &value, 4, kN, stream_);
    return static_cast<float*>(p);
  }
  std::vector<float> download(const float* p) {
    std::vector<float> host(kN);
    device_->copy(host.data(), p, kN * 4, stream_);
    device_->synchronize(stream_);
    return host;
  }
  static WtArray array_of(void* data) {
    return {.data = static_cast<char*>(data),
            .shape = {kN, 1, 1, 1},
            .stride = {4, 0, 0, 0},
            .batch_stride = 0,
            .ndim = 1,
            .flags = 0};
  }
  /// y += x
  void add(const std::shared_ptr<Executable>& module, float* x, float* y) {
    const PreparedKernel kernel(*device_, module, "axpy");
    ArgBlock args(sizeof(testing::AxpyArgs));
    args.set(offsetof(testing::AxpyArgs, in), array_of(x));
    args.set(offsetof(testing::AxpyArgs, out), array_of(y));
    args.set(offsetof(testing::AxpyArgs, k), 1.0f);
    LaunchShape shape{.dim = {kN, 1, 1, 1}};
    kernel.prepare(shape, args);
    kernel.launch(shape, args, stream_);
  }
  void begin_capture() {
    const auto begin = symbol<CUresult(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2");
    ASSERT_EQ(begin(static_cast<CUstream>(stream_.handle), CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_SUCCESS);
  }
  /// Ends the capture and runs the graph `times` times.
  void replay(int times) {
    CUgraph graph = nullptr;
    const auto end = symbol<CUresult(CUstream, CUgraph*)>("cuStreamEndCapture");
    ASSERT_EQ(end(static_cast<CUstream>(stream_.handle), &graph), CUDA_SUCCESS);
    CUgraphExec run = nullptr;
    const auto instantiate =
        symbol<CUresult(CUgraphExec*, CUgraph, unsigned long long)>("cuGraphInstantiateWithFlags");
    ASSERT_EQ(instantiate(&run, graph, 0), CUDA_SUCCESS);
    const auto launch = symbol<CUresult(CUgraphExec, CUstream)>("cuGraphLaunch");
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(launch(run, static_cast<CUstream>(stream_.handle)), CUDA_SUCCESS);
    }
    device_->synchronize(stream_);
    symbol<CUresult(CUgraphExec)>("cuGraphExecDestroy")(run);
    symbol<CUresult(CUgraph)>("cuGraphDestroy")(graph);
  }

  static constexpr int64_t kN = 10'000;
  Device* device_ = nullptr;
  Stream stream_;
  std::shared_ptr<Executable> module_;
};

TEST_F(CudaTest, LaunchesFillsAndCopiesAreCaptured) {
  float* x = floats(1);
  float* y = floats(0);
  float* z = floats(0);
  device_->synchronize(stream_);
  EXPECT_FALSE(device_->is_capturing(stream_));
  EXPECT_EQ(cuda_capture_id(0, stream_), 0u);
  begin_capture();
  EXPECT_TRUE(device_->is_capturing(stream_));
  EXPECT_NE(cuda_capture_id(0, stream_), 0u);
  EXPECT_FALSE(device_->is_capturing(Stream{}));
  add(module_, x, y);
  device_->copy(z, y, kN * 4, stream_);
  const float pattern[2] = {3, 4};
  device_->fill(x, pattern, 8, kN / 2, stream_);
  replay(3);
  const std::vector<float> got = download(z);
  EXPECT_EQ(got[0], 1 + 3 + 3);
  EXPECT_EQ(got[1], 1 + 4 + 4);
}

TEST_F(CudaTest, LoadingAndAllocatingAreLegalWhileCapturing) {
  float* x = floats(2);
  device_->synchronize(stream_);
  const Binary binary = compiled(testing::kCudaKernels);
  PoolAllocator pool(memory_source_of(*device_));
  begin_capture();
  const uint64_t capture = cuda_capture_id(0, stream_);
  const auto module = device_->load(binary);
  auto* t = static_cast<float*>(pool.alloc(kN * 4, stream_));
  const float five = 5;
  device_->fill(t, &five, 4, kN, stream_);
  add(module, x, t);  // t = 7
  add(module, t, x);  // x += 7
  pool.free(t);
  EXPECT_EQ(pool.alloc(kN * 4, stream_), t);
  pool.free(t);
  replay(2);  // x: 2, 9, then t = 5 + 9 and x = 23.
  EXPECT_EQ(download(x), std::vector<float>(kN, 23));
  EXPECT_NE(pool.alloc(kN * 4, stream_), t);
  pool.release_capture(capture);
}

TEST_F(CudaTest, MemoryOutlivesTheStreamThatItWasUsedOn) {
  const std::shared_ptr<Allocator> pool = allocator_of(*device_);
  const Stream gone = device_->create_stream();
  void* own = pool->alloc(1 << 20, gone);
  void* used = pool->alloc(1 << 20, stream_);
  pool->use_on(used, gone);
  pool->free(own);
  device_->destroy_stream(gone);
  pool->free(used);
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(pool->alloc(1 << 20, stream_));
  for (void* block : blocks) pool->free(block);
}

TEST_F(CudaTest, AnotherCurrentContextIsRestored) {
  const auto create = symbol<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2");
  const auto current = symbol<CUresult(CUcontext*)>("cuCtxGetCurrent");
  const auto set = symbol<CUresult(CUcontext)>("cuCtxSetCurrent");
  const auto destroy = symbol<CUresult(CUcontext)>("cuCtxDestroy_v2");
  CUcontext before = nullptr;
  ASSERT_EQ(current(&before), CUDA_SUCCESS);
  CUcontext other = nullptr;
  ASSERT_EQ(create(&other, 0, 0), CUDA_SUCCESS);
  EXPECT_GT(device_->memory_info().free, 0u);
  EXPECT_EQ(download(floats(3)), std::vector<float>(kN, 3));
  CUcontext after = nullptr;
  ASSERT_EQ(current(&after), CUDA_SUCCESS);
  EXPECT_EQ(after, other);
  set(before);
  destroy(other);
}

TEST_F(CudaTest, PtxLoadsToo) {
  const auto module = device_->load(compiled(testing::kCudaKernels, "compute_80"));
  float* x = floats(1);
  float* y = floats(2);
  add(module, x, y);
  EXPECT_EQ(download(y), std::vector<float>(kN, 3));
}

TEST_F(CudaTest, SmallLaunchesSpreadOverTheProcessors) {
  const Entry* entry = module_->entry("axpy");
  LaunchShape shape{.dim = {4096, 1, 1, 1}};
  module_->plan(entry, shape);
  EXPECT_EQ(shape.lanes, 4096);
  EXPECT_LE(shape.block, 64);
  LaunchShape large{.dim = {1 << 30, 1, 1, 1}, .batch = 4};
  module_->plan(entry, large);
  EXPECT_EQ(large.block, 256);
  LaunchShape scratch{.dim = {1 << 30, 1, 1, 1}, .max_lanes = 1 << 30};
  module_->plan(entry, scratch);
  const DeviceProperties& p = device_->properties();
  EXPECT_LE(scratch.lanes, int64_t{p.processors} * p.threads_per_processor);
  EXPECT_GT(scratch.lanes, int64_t{p.processors} * p.threads_per_processor / 4);
  LaunchShape fixed{.dim = {1 << 20, 1, 1, 1}, .block = 96};
  module_->plan(entry, fixed);
  EXPECT_EQ(fixed.lanes % 96, 0);
  LaunchShape wrong{.dim = {1, 1, 1, 1}, .block = 4096};
  EXPECT_THROW(module_->plan(entry, wrong), DeviceError);
}

TEST_F(CudaTest, ABlockOfTheWrongSizeIsABug) {
  const Entry* entry = module_->entry("axpy");
  LaunchShape shape{.dim = {1, 1, 1, 1}};
  module_->plan(entry, shape);
  const std::string block(sizeof(testing::AxpyArgs) + 8, '\0');
  EXPECT_THROW(module_->launch(entry, shape, block.data(), block.size(), stream_), InternalError);
}

TEST_F(CudaTest, AForkedChildGetsAClearError) {
  float* x = floats(1);
  const pid_t child = fork();
  if (child == 0) {
    int code = 1;
    try {
      device_->alloc(16, stream_);
    } catch (const DeviceError& e) {
      code = std::string_view(e.what()).find("before fork()") != std::string_view::npos ? 0 : 2;
    }
    device_->free(x, kN * 4, stream_);  // Destructors in the child are quiet.
    module_.reset();
    _exit(code);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(download(x), std::vector<float>(kN, 1));
}

/// Ends the process with 0 if the driver's error arrives as wanted.
[[noreturn]] void write_through_null() {
  Device& device = cuda_device(0);
  const PreparedKernel kernel(device, device.load(compiled(testing::kCudaKernels)), "axpy");
  ArgBlock args(sizeof(testing::AxpyArgs));
  WtArray nowhere{};
  nowhere.stride[0] = 4;
  args.set(offsetof(testing::AxpyArgs, in), nowhere);
  args.set(offsetof(testing::AxpyArgs, out), nowhere);
  LaunchShape shape;
  kernel.prepare(shape, args);
  kernel.launch(shape, args, {});
  try {
    device.synchronize();
  } catch (const DeviceError& e) {
    const std::string_view text = e.what();
    const bool good = e.code() == CUDA_ERROR_ILLEGAL_ADDRESS &&
                      text.find("CUDA could not wait for cuda:0") != std::string_view::npos &&
                      text.find("wt.config.mode = \"debug\"") != std::string_view::npos;
    _exit(good ? 0 : 1);
  }
  _exit(2);
}

TEST_F(CudaTest, AFailedKernelIsExplained) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // In a process of its own.
  EXPECT_EXIT(write_through_null(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace wt::rt
