// SPDX-License-Identifier: Apache-2.0
// test_device.cpp: one conformance suite for every Device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/cpu_device.h"
#include "csrc/runtime/cuda_device.h"
#include "csrc/runtime/device.h"
#include "csrc/runtime/driver/nvrtc.h"
#include "csrc/runtime/host_compiler.h"
#include "tests/runtime/host_queue_device.h"
#include "tests/runtime/kernels.h"
#include "tests/runtime/nvrtc_folders.h"

namespace wt::rt {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* name;
  Device* (*device)();
  Binary (*compile)();
};
void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

Binary cpu_binary() {
  static const Binary binary =
      compile_host(find_host_compiler(), testing::kCpuKernels, "suite", {.debug = true});
  return binary;
}

Binary cuda_binary() {
  static const Binary binary = [] {
    testing::use_nvrtc_of_the_build();
    const DeviceProperties& p = cuda_device(0).properties();
    return compile_nvrtc(testing::kCudaKernels, "suite",
                         {.arch = nvrtc_arch(p.cc_major, p.cc_minor)});
  }();
  return binary;
}

class DeviceTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    device_ = GetParam().device();
    if (device_ == nullptr) GTEST_SKIP() << cuda_absence();
    stream_ = device_->create_stream();
  }
  void TearDown() override {
    if (device_ == nullptr) return;
    device_->synchronize();
    for (const auto& [ptr, bytes] : owned_) device_->free(ptr, bytes, stream_);
    device_->destroy_stream(stream_);
  }

  template <class T>
  T* make(size_t count) {
    void* ptr = device_->alloc(count * sizeof(T), stream_);
    owned_.emplace_back(ptr, count * sizeof(T));
    return static_cast<T*>(ptr);
  }
  template <class T>
  T* upload(const std::vector<T>& host) {
    T* ptr = make<T>(host.size());
    device_->copy(ptr, host.data(), host.size() * sizeof(T), stream_);
    return ptr;
  }
  template <class T>
  std::vector<T> download(const T* ptr, size_t count, Stream stream) {
    std::vector<T> host(count);
    device_->copy(host.data(), ptr, count * sizeof(T), stream);
    device_->synchronize(stream);
    return host;
  }
  template <class T>
  std::vector<T> download(const T* ptr, size_t count) {
    return download(ptr, count, stream_);
  }

  static WtArray array_of(void* data, int64_t n, int64_t stride, int64_t batch_stride = 0) {
    return {.data = static_cast<char*>(data),
            .shape = {n, 1, 1, 1},
            .stride = {stride, 0, 0, 0},
            .batch_stride = batch_stride,
            .ndim = 1,
            .flags = 0};
  }

  template <class Args>
  void launch(const std::shared_ptr<Executable>& module, const char* name, LaunchShape shape,
              Args args, Stream stream) {
    const Entry* entry = module->entry(name);
    module->plan(entry, shape);
    args.launch = launch_header(shape);
    module->launch(entry, shape, &args, sizeof args, stream);
    std::memset(&args, 0xff, sizeof args);  // The block may be reused at once.
  }

  Device* device_ = nullptr;
  Stream stream_;
  std::vector<std::pair<void*, size_t>> owned_;
};

TEST_P(DeviceTest, HasProperties) {
  const DeviceProperties& p = device_->properties();
  EXPECT_FALSE(p.name.empty());
  EXPECT_GT(p.total_memory, 0u);
  EXPECT_GE(p.processors, 1);
  const MemoryInfo info = device_->memory_info();
  EXPECT_LE(info.free, info.total);
  if (p.kind == DeviceKind::kCuda) {
    EXPECT_GE(p.cc_major, 5);
    EXPECT_FALSE(p.pci_bus_id.empty());
  }
}

TEST_P(DeviceTest, AllocatesAlignedDistinctMemory) {
  EXPECT_EQ(device_->alloc(0, stream_), nullptr);
  device_->free(nullptr, 0, stream_);
  std::vector<char*> all;
  for (const size_t bytes : {1, 63, 64, 1000, 100'000}) {
    char* p = make<char>(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
    for (char* other : all) EXPECT_NE(p, other);
    all.push_back(p);
  }
}

TEST_P(DeviceTest, TooMuchMemoryIsRefusedAndTheDeviceLives) {
  const size_t bytes = size_t{1} << 60;
  try {
    device_->alloc(bytes, stream_);
    FAIL();
  } catch (const OutOfMemoryError& e) {
    EXPECT_EQ(e.requested(), bytes);
    EXPECT_THAT(e.what(), HasSubstr(cat("could not allocate ", bytes, " bytes")));
  }
  const std::vector<int> host = {1, 2, 3};
  EXPECT_EQ(download(upload(host), 3), host);
}

TEST_P(DeviceTest, CopiesInEveryDirection) {
  std::vector<int> host(10'007);
  std::iota(host.begin(), host.end(), -5);
  const std::vector<int> original = host;
  int* a = upload(host);
  std::fill(host.begin(), host.end(), 0);  // The source has been read.
  int* b = make<int>(host.size());
  device_->copy(b, a, host.size() * sizeof(int), stream_);
  device_->copy(b, a, 0, stream_);
  EXPECT_EQ(download(b, host.size()), original);
  std::vector<int> other(3);
  device_->copy(other.data(), original.data(), 12, stream_);
  device_->synchronize(stream_);
  EXPECT_EQ(other, std::vector<int>(original.begin(), original.begin() + 3));
}

TEST_P(DeviceTest, FillsAnyPattern) {
  for (const size_t size : {1, 2, 3, 4, 6, 8, 12, 16, 36}) {
    std::string pattern;
    for (size_t i = 0; i < size; ++i) pattern += static_cast<char>(17 * i + size);
    for (const size_t count : {0, 1, 5, 255, 1000, 70'001}) {
      char* p = make<char>(size * count + 1);
      const char guard = 'g';
      device_->copy(p + size * count, &guard, 1, stream_);
      device_->fill(p, pattern.data(), size, count, stream_);
      std::string want;
      for (size_t i = 0; i < count; ++i) want += pattern;
      want += guard;
      const std::vector<char> got = download(p, want.size());
      EXPECT_EQ(std::string(got.begin(), got.end()), want) << size << " x " << count;
    }
  }
  const std::string zeros(8, '\0');
  int64_t* p = make<int64_t>(100);
  device_->fill(p, zeros.data(), 8, 100, stream_);
  EXPECT_EQ(download(p, 100), std::vector<int64_t>(100, 0));
}

TEST_P(DeviceTest, FillsAtAnUnalignedAddress) {
  char* p = make<char>(64);
  const std::string zeros(64, '\0');
  device_->copy(p, zeros.data(), 64, stream_);
  device_->fill(p + 1, "abcd", 4, 5, stream_);
  const std::vector<char> got = download(p, 64);
  EXPECT_EQ(std::string(got.begin() + 1, got.begin() + 21), "abcdabcdabcdabcdabcd");
  EXPECT_EQ(got[0], '\0');
  EXPECT_EQ(got[21], '\0');
}

TEST_P(DeviceTest, LaunchesComputeOnStridedArrays) {
  const auto module = device_->load(GetParam().compile());
  for (const int64_t n : {1, 31, 1000, 100'003}) {
    std::vector<float> in(static_cast<size_t>(2 * n));
    std::vector<float> out(static_cast<size_t>(n));
    for (int64_t i = 0; i < 2 * n; ++i) in[static_cast<size_t>(i)] = 0.25f * static_cast<float>(i);
    for (int64_t i = 0; i < n; ++i) out[static_cast<size_t>(i)] = static_cast<float>(i % 7);
    float* x = upload(in);
    float* y = upload(out);
    launch(module, "axpy", {.dim = {n, 1, 1, 1}},
           testing::AxpyArgs{
               .launch = {}, .in = array_of(x, n, 8), .out = array_of(y, n, 4), .k = 1.5f},
           stream_);
    for (int64_t i = 0; i < n; ++i) {
      out[static_cast<size_t>(i)] =
          1.5f * in[static_cast<size_t>(2 * i)] + out[static_cast<size_t>(i)];
    }
    EXPECT_EQ(download(y, out.size()), out);
  }
}

TEST_P(DeviceTest, LaunchesRunEveryThreadOnceInALaneOfTheirOwn) {
  const auto module = device_->load(GetParam().compile());
  for (const int64_t max_lanes : {0, 32, 1000}) {
    for (const int64_t n : {1, 100, 50'000}) {
      constexpr int64_t kBatch = 3;
      const size_t total = static_cast<size_t>(n * kBatch);
      int* count = upload(std::vector<int>(total, 0));
      int* lane = upload(std::vector<int>(total, -1));
      LaunchShape shape{.dim = {n, 1, 1, 1}, .batch = kBatch, .max_lanes = max_lanes};
      launch(module, "touch", shape,
             testing::TouchArgs{.launch = {},
                                .count = array_of(count, n, 4, 4 * n),
                                .lane = array_of(lane, n, 4, 4 * n)},
             stream_);
      module->plan(module->entry("touch"), shape);
      EXPECT_GE(shape.lanes, 1);
      if (max_lanes > 0) {
        EXPECT_LE(shape.lanes, max_lanes);
      }
      EXPECT_EQ(download(count, total), std::vector<int>(total, 1));
      for (const int l : download(lane, total)) {
        ASSERT_GE(l, 0);
        ASSERT_LT(l, shape.lanes);
      }
    }
  }
}

TEST_P(DeviceTest, AnEmptyLaunchDoesNothing) {
  const auto module = device_->load(GetParam().compile());
  launch(module, "touch", {.dim = {0, 1, 1, 1}},
         testing::TouchArgs{
             .launch = {}, .count = array_of(nullptr, 0, 4), .lane = array_of(nullptr, 0, 4)},
         stream_);
  device_->synchronize(stream_);
}

TEST_P(DeviceTest, UnknownKernelsAreNamed) {
  const auto module = device_->load(GetParam().compile());
  try {
    module->entry("no_such_kernel");
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_THAT(e.what(), HasSubstr("no_such_kernel"));
  }
  EXPECT_EQ(module->entry("axpy"), module->entry("axpy"));
}

TEST_P(DeviceTest, BinariesOfAnotherKindAreRefused) {
  Binary wrong = GetParam().compile();
  wrong.kind =
      wrong.kind == BinaryKind::kSharedObject ? BinaryKind::kCubin : BinaryKind::kSharedObject;
  EXPECT_THROW(device_->load(wrong), DeviceError);
  Binary broken = GetParam().compile();
  broken.data = "not a binary";
  EXPECT_THROW(device_->load(broken), DeviceError);
  EXPECT_NO_THROW(device_->load(GetParam().compile()));
}

TEST_P(DeviceTest, AStreamWaitsForAnother) {
  const auto module = device_->load(GetParam().compile());
  constexpr int64_t kN = 200'000;
  const Stream other = device_->create_stream();
  for (int round = 0; round < 5; ++round) {
    float* x = upload(std::vector<float>(kN, 1));
    float* y = upload(std::vector<float>(kN, 0));
    device_->synchronize(stream_);
    const auto add = [&](float* in, float* out, Stream on) {
      launch(module, "axpy", {.dim = {kN, 1, 1, 1}},
             testing::AxpyArgs{
                 .launch = {}, .in = array_of(in, kN, 4), .out = array_of(out, kN, 4), .k = 1},
             on);
    };
    for (int i = 0; i < 10; ++i) add(x, y, stream_);  // y = 10
    device_->wait(other, stream_);
    add(y, x, other);  // x = 11
    const auto event = device_->create_event(false);
    event->record(other);
    event->wait(stream_);
    add(x, y, stream_);  // y = 21
    EXPECT_EQ(download(y, kN), std::vector<float>(kN, 21));
  }
  device_->destroy_stream(other);
}

TEST_P(DeviceTest, EventsReportProgressAndTime) {
  const auto start = device_->create_event(true);
  const auto end = device_->create_event(true);
  EXPECT_TRUE(start->done());
  start->record(stream_);
  int* p = make<int>(1'000'000);
  const int seven = 7;
  device_->fill(p, &seven, 4, 1'000'000, stream_);
  end->record(stream_);
  end->synchronize();
  EXPECT_TRUE(end->done());
  EXPECT_TRUE(start->done());
  EXPECT_GE(end->elapsed_ms(*start), 0.0);
  EXPECT_LT(end->elapsed_ms(*start), 60e3);
  const auto untimed = device_->create_event(false);
  untimed->record(stream_);
  untimed->synchronize();
  EXPECT_THROW(end->elapsed_ms(*untimed), DeviceError);
}

TEST_P(DeviceTest, WorksFromSeveralThreads) {
  const auto module = device_->load(GetParam().compile());
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Stream stream = device_->create_stream();
      for (int round = 0; round < 10; ++round) {
        constexpr int64_t kN = 5000;
        void* count = device_->alloc(kN * 4, stream);
        void* lane = device_->alloc(kN * 4, stream);
        device_->fill(count, &t, 4, kN, stream);
        launch(module, "touch", {.dim = {kN, 1, 1, 1}},
               testing::TouchArgs{
                   .launch = {}, .count = array_of(count, kN, 4), .lane = array_of(lane, kN, 4)},
               stream);
        const auto got = download(static_cast<int*>(count), kN, stream);
        if (got == std::vector<int>(kN, t + 1)) ++good;
        device_->free(count, kN * 4, stream);
        device_->free(lane, kN * 4, stream);
      }
      device_->destroy_stream(stream);
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(good.load(), 40);
}

Device* queue_device() {
  static testing::HostQueueDevice device;
  return &device;
}

INSTANTIATE_TEST_SUITE_P(All, DeviceTest,
                         ::testing::Values(Case{"cpu", [] { return &cpu_device(); }, cpu_binary},
                                           Case{"queue", queue_device, cpu_binary},
                                           Case{"cuda",
                                                [] {
                                                  return cuda_device_count() > 0 ? &cuda_device(0)
                                                                                 : nullptr;
                                                },
                                                cuda_binary}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(HostQueueDevice, FindsWritesOutsideOfABlock) {
  testing::HostQueueDevice device;
  char* p = static_cast<char*>(device.alloc(10, {}));
  p[10] = 1;
  device.free(p, 10, {});
  device.synchronize();
  EXPECT_EQ(device.broken_fences(), 1);
  EXPECT_EQ(device.live_bytes(), 0u);
}

TEST(HostQueueDevice, PlantedFaultsHappenOnceAndChangeNothing) {
  testing::HostQueueDevice device;
  device.faults.alloc = 1;
  void* first = device.alloc(8, {});
  EXPECT_THROW(device.alloc(8, {}), OutOfMemoryError);
  EXPECT_EQ(device.live_blocks(), 1u);
  device.faults.copy = 0;
  const int64_t value = 5;
  EXPECT_THROW(device.copy(first, &value, 8, {}), DeviceError);
  device.copy(first, &value, 8, {});
  device.synchronize();
  EXPECT_EQ(*static_cast<int64_t*>(first), 5);
  device.faults.load = 0;
  EXPECT_THROW(device.load(cpu_binary()), DeviceError);
  EXPECT_NO_THROW(device.load(cpu_binary()));
  device.free(first, 8, {});
  device.synchronize();
}

TEST(HostQueueDevice, AForgottenWaitShows) {
  // The suite's point: without wait(), the other stream must be able to see old data.
  bool stale = false;
  for (uint64_t seed = 0; seed < 20 && !stale; ++seed) {
    testing::HostQueueDevice device(1 << 20, seed);
    const Stream a = device.create_stream();
    const Stream b = device.create_stream();
    char* p = static_cast<char*>(device.alloc(1, a));
    device.fill(p, "x", 1, 1, a);
    char got = 0;
    device.copy(&got, p, 1, b);
    device.synchronize(b);
    stale = got != 'x';
    device.synchronize();
  }
  EXPECT_TRUE(stale);
}

}  // namespace
}  // namespace wt::rt
