// SPDX-License-Identifier: Apache-2.0
// test_profiler.cpp: records, batches, the Chrome trace; and launches through Kernel.
#include "csrc/runtime/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "csrc/runtime/cpu_device.h"
#include "csrc/runtime/cuda_device.h"
#include "csrc/runtime/host_compiler.h"
#include "csrc/runtime/launch.h"
#include "csrc/runtime/process.h"
#include "tests/runtime/kernels.h"

namespace wt::rt {
namespace {

using ::testing::HasSubstr;

class Collector : public Profiler {
 public:
  void take(std::span<const ProfileRecord> batch) override {
    records.insert(records.end(), batch.begin(), batch.end());
    ++batches;
  }
  void flush() override { ++flushes; }
  std::vector<ProfileRecord> records;
  int batches = 0;
  int flushes = 0;
};

class ProfilerTest : public ::testing::Test {
 protected:
  void SetUp() override { set_profiler(collector); }
  void TearDown() override { set_profiler(nullptr); }
  std::shared_ptr<Collector> collector = std::make_shared<Collector>();
};

TEST_F(ProfilerTest, LaunchesAreRecordedWithTheirSize) {
  const PreparedKernel kernel(
      cpu_device(),
      cpu_device().load(
          compile_host(find_host_compiler(), testing::kCpuKernels, "suite", {.debug = true})),
      "axpy");
  std::vector<float> x(100, 2.0f);
  std::vector<float> y(100, 1.0f);
  const auto array = [](std::vector<float>& v) {
    return WtArray{.data = reinterpret_cast<char*>(v.data()),
                   .shape = {100, 1, 1, 1},
                   .stride = {4, 0, 0, 0},
                   .batch_stride = 0,
                   .ndim = 1,
                   .flags = 0};
  };
  ArgBlock args(sizeof(testing::AxpyArgs));
  args.set(offsetof(testing::AxpyArgs, in), array(x));
  args.set(offsetof(testing::AxpyArgs, out), array(y));
  args.set(offsetof(testing::AxpyArgs, k), 3.0f);
  LaunchShape shape{.dim = {100, 1, 1, 1}};
  kernel.prepare(shape, args);
  kernel.launch(shape, args, {});
  EXPECT_EQ(y, std::vector<float>(100, 7.0f));
  EXPECT_TRUE(collector->records.empty());  // Off the launch path.
  flush_profiler();
  ASSERT_EQ(collector->records.size(), 1u);
  const ProfileRecord& r = collector->records[0];
  EXPECT_EQ(r.kind, ProfileKind::kLaunch);
  EXPECT_EQ(r.name, "axpy");
  EXPECT_EQ(r.device, "cpu");
  EXPECT_EQ(r.threads, 100);
  EXPECT_GE(r.end_ns, r.begin_ns);
  EXPECT_EQ(collector->flushes, 1);
}

TEST_F(ProfilerTest, RecordsOfAllThreadsArriveInBatches) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 2500; ++i) const ProfileScope scope(ProfileKind::kUser, "work");
    });
  }
  for (std::thread& t : threads) t.join();
  flush_profiler();
  EXPECT_EQ(collector->records.size(), 7500u);
  EXPECT_LE(collector->batches, 9);
}

TEST_F(ProfilerTest, NothingIsRecordedWithoutAProfiler) {
  set_profiler(nullptr);
  { const ProfileScope scope(ProfileKind::kUser, "work"); }
  set_profiler(collector);
  flush_profiler();
  EXPECT_TRUE(collector->records.empty());
}

TEST(TraceProfiler, WritesAChromeTrace) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/trace.json";
  set_profiler(make_trace_profiler(path));
  { const ProfileScope scope(ProfileKind::kCompile, "a \"quoted\"\n name"); }
  set_profiler(nullptr);
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(text, HasSubstr(R"("name":"a \"quoted\"\u000a name")"));
  EXPECT_THAT(text, HasSubstr(R"("cat":"compile")"));
  // A JSON reader that is not ours.
  const ProcessResult read = run_process(
      {"python3", "-c",
       "import json,sys; t=json.load(open(sys.argv[1])); e=t['traceEvents']; print(len(e), "
       "e[0]['ph'], e[0]['dur'] >= 0)",
       path},
      "");
  EXPECT_EQ(read.output, "1 X True\n");
}

TEST(TraceProfiler, DrawsDeviceTimesOnTracksOfTheirOwn) {
  ProfileRecord r;
  r.kind = ProfileKind::kLaunch;
  r.name = "step";
  r.device = "cuda:0";
  r.stream = 5;
  r.begin_ns = 1'000'000;
  r.end_ns = 1'004'000;
  r.device_ms = 0.25;
  r.threads = 64;
  const std::string text = trace_json(std::span(&r, 1));
  EXPECT_THAT(text, HasSubstr(R"("pid":"host")"));
  EXPECT_THAT(text, HasSubstr(R"("pid":"cuda:0","tid":5,"ts":1000,"dur":250)"));
}

TEST(ArgBlock, TooManyArgumentsAreRefused) {
  EXPECT_THROW(ArgBlock(5000), ArgumentValueError);
  ArgBlock args(64);
  EXPECT_THROW(args.set(60, 1.0), InternalError);
}

TEST(CudaProfiler, MeasuresDeviceTime) {
  if (cuda_device_count() == 0) GTEST_SKIP() << cuda_absence();
  auto collector = std::make_shared<Collector>();
  set_profiler(collector);
  Device& device = cuda_device(0);
  const Stream stream = device.create_stream();
  void* p = device.alloc(64 << 20, stream);
  const char zero = 0;
  {
    const ProfileScope scope(ProfileKind::kFill, "fill", device, stream);
    device.fill(p, &zero, 1, 64 << 20, stream);
  }
  set_profiler(nullptr);
  ASSERT_EQ(collector->records.size(), 1u);
  EXPECT_GT(collector->records[0].device_ms, 0.0);
  EXPECT_LT(collector->records[0].device_ms, 1000.0);
  device.free(p, 64 << 20, stream);
  device.destroy_stream(stream);
}

}  // namespace
}  // namespace wt::rt
