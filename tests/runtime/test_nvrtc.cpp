// SPDX-License-Identifier: Apache-2.0
// test_nvrtc.cpp: compiling for GPUs on a machine that needs none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "csrc/codegen/support/error.h"
#include "csrc/runtime/cuda_device.h"
#include "csrc/runtime/driver/nvrtc.h"
#include "csrc/runtime/host_compiler.h"
#include "tests/runtime/kernels.h"
#include "tests/runtime/nvrtc_folders.h"

namespace wt::rt {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::use_nvrtc_of_the_build();
    ASSERT_TRUE(nvrtc_present());
  }
};

TEST_F(NvrtcTest, CompilesToACubinOfEachArchitecture) {
  std::set<std::string> seen;
  for (const char* arch : {"sm_80", "sm_90", "sm_100"}) {
    const Binary binary = compile_nvrtc(testing::kCudaKernels, "axpy", {.arch = arch});
    EXPECT_EQ(binary.kind, BinaryKind::kCubin);
    EXPECT_EQ(binary.arch, arch);
    EXPECT_THAT(binary.data, StartsWith("\x7f"
                                        "ELF"));
    EXPECT_THAT(binary.data, HasSubstr(".text.axpy"));
    EXPECT_THAT(binary.data, HasSubstr(".text.touch"));
    EXPECT_TRUE(seen.insert(binary.data).second);
  }
}

TEST_F(NvrtcTest, CompilesToPtxWithoutContraction) {
  const Binary binary = compile_nvrtc(testing::kCudaKernels, "axpy", {.arch = "compute_80"});
  EXPECT_EQ(binary.kind, BinaryKind::kPtx);
  EXPECT_THAT(binary.data, HasSubstr(".entry axpy"));
  EXPECT_THAT(binary.data, HasSubstr("mul.rn.f32"));
  EXPECT_THAT(binary.data, Not(HasSubstr("fma.rn.f32")));
}

TEST_F(NvrtcTest, ErrorsCarryThePlaceOfLineDirectivesAndTheLog) {
  try {
    compile_nvrtc("#line 41 \"step.py\"\nextern \"C\" __global__ void k() { nope(); }\n", "k",
                  {.arch = "sm_90"});
    FAIL();
  } catch (const CompileError& e) {
    EXPECT_EQ(e.place().filename, "step.py");
    EXPECT_EQ(e.place().lineno, 41);
    EXPECT_THAT(e.message(), HasSubstr("could not compile kernel k"));
    EXPECT_THAT(e.message(), HasSubstr("nope"));
    EXPECT_THAT(e.log(), HasSubstr("step.py(41)"));
  }
}

TEST_F(NvrtcTest, UnknownArchitecturesAreRefusedByName) {
  EXPECT_THROW(compile_nvrtc("", "k", {.arch = "gfx90a"}), DeviceError);
  try {
    compile_nvrtc("", "k", {.arch = "sm_12"});
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_THAT(e.what(), HasSubstr("architecture"));
  }
}

TEST_F(NvrtcTest, PicksAnArchitectureForEveryDevice) {
  EXPECT_EQ(nvrtc_arch(9, 0), "sm_90");
  EXPECT_THAT(nvrtc_arch(99, 0), StartsWith("compute_"));
  EXPECT_THROW(nvrtc_arch(1, 0), DeviceError);
}

TEST_F(NvrtcTest, CacheTagHoldsVersionAndFlags) {
  const std::string tag = nvrtc_cache_tag({.arch = "sm_90"});
  EXPECT_THAT(tag, HasSubstr(nvrtc_version()));
  EXPECT_THAT(tag, HasSubstr("--fmad=false"));
  EXPECT_NE(tag, nvrtc_cache_tag({.arch = "sm_80"}));
}

TEST_F(NvrtcTest, CompilesFromSeveralThreads) {
  std::vector<std::string> out(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < out.size(); ++i) {
    threads.emplace_back(
        [&, i] { out[i] = compile_nvrtc(testing::kCudaKernels, "axpy", {.arch = "sm_90"}).data; });
  }
  for (std::thread& t : threads) t.join();
  for (const std::string& data : out) EXPECT_EQ(data, out[0]);
}

TEST(CudaDriver, WithoutADriverTheErrorSaysWhy) {
  if (cuda_device_count() > 0) {
    try {
      cuda_device(cuda_device_count());
      FAIL();
    } catch (const DeviceError& e) {
      EXPECT_THAT(e.what(), HasSubstr("there is no device cuda:"));
    }
    return;
  }
  EXPECT_FALSE(cuda_absence().empty());
  try {
    cuda_device(0);
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_THAT(e.what(), HasSubstr("no CUDA device can be used: "));
    EXPECT_THAT(e.what(), HasSubstr(cuda_absence()));
  }
}

}  // namespace
}  // namespace wt::rt
