// SPDX-License-Identifier: Apache-2.0
// test_host_compiler.cpp: finding and running the C++ compiler, loading what it made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "csrc/runtime/host_compiler.h"
#include "csrc/runtime/process.h"
#include "csrc/runtime/shared_object.h"
#include "tests/runtime/kernels.h"

namespace wt::rt {
namespace {

using ::testing::HasSubstr;

/// Sets an environment variable for one test.
class ScopedEnv {
 public:
  ScopedEnv(const char* name, const char* value) : name_(name) {
    const char* old = getenv(name);
    had_ = old != nullptr;
    if (had_) old_ = old;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~ScopedEnv() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  bool had_;
  std::string old_;
};

TEST(HostCompiler, IsFoundAndSaysItsVersion) {
  const HostCompiler& compiler = find_host_compiler();
  EXPECT_FALSE(compiler.version.empty());
  EXPECT_EQ(&compiler, &find_host_compiler());
}

TEST(HostCompiler, WithoutOneTheErrorSaysWhereItLookedAndWhatToInstall) {
  const ScopedEnv cxx("CXX", "no-such-compiler");
  const ScopedEnv path("PATH", "/nonexistent");
  try {
    find_host_compiler({.compiler = "", .zig_python = "no-such-python"});
    FAIL();
  } catch (const DeviceError& e) {
    for (const char* text :
         {"no-such-compiler ($CXX)", "c++ (PATH)", "g++ (PATH)", "clang++ (PATH)",
          "no-such-python -m ziglang c++", "Install g++", "pip install ziglang"}) {
      EXPECT_THAT(e.what(), HasSubstr(text));
    }
  }
}

TEST(HostCompiler, AFailedSearchIsTriedAgain) {
  {
    const ScopedEnv path("PATH", "/nonexistent");
    const ScopedEnv cxx("CXX", nullptr);
    EXPECT_THROW(find_host_compiler({.compiler = "c++-of-this-test"}), DeviceError);
  }
  EXPECT_NO_THROW(find_host_compiler({.compiler = "c++-of-this-test"}));
}

TEST(HostCompiler, ZiglangServesWhereThereIsNoOther) {
  const ProcessResult python =
      run_process({"python3", "-c", "import sys, ziglang; print(sys.executable)"}, "");
  if (python.exit_code != 0) GTEST_SKIP() << "the ziglang package is not installed";
  const ScopedEnv cxx("CXX", nullptr);
  const ScopedEnv path("PATH", "/nonexistent");
  const HostCompiler& compiler =
      find_host_compiler({.compiler = "", .zig_python = std::string(trim(python.output))});
  EXPECT_TRUE(compiler.zig);
  EXPECT_NE(
      load_shared_object(compile_host(compiler, testing::kCpuKernels, "suite"))->entry("axpy"),
      nullptr);
  try {
    compile_host(compiler, "#line 12 \"step.py\"\nint f() { return nope; }\n", "step");
    FAIL();
  } catch (const CompileError& e) {
    EXPECT_EQ(e.place().filename, "step.py");
    EXPECT_EQ(e.place().lineno, 12);
  }
}

TEST(HostCompiler, ErrorsCarryThePlaceOfLineDirectives) {
  try {
    compile_host(find_host_compiler(), "#line 12 \"step.py\"\nint f() { return nope; }\n", "step");
    FAIL();
  } catch (const CompileError& e) {
    EXPECT_EQ(e.place().filename, "step.py");
    EXPECT_EQ(e.place().lineno, 12);
    EXPECT_GT(e.place().col, 0);
    EXPECT_THAT(e.message(), HasSubstr("could not compile kernel step"));
    EXPECT_THAT(e.message(), HasSubstr("nope"));
    EXPECT_THAT(e.log(), HasSubstr("step.py:12"));
  }
}

TEST(HostCompiler, ReadsPlacesOfNvrtcToo) {
  const CompileError e =
      compile_error("NVRTC", "k", "step.py(7): error: identifier \"y\" is undefined\n", 6);
  EXPECT_EQ(e.place().filename, "step.py");
  EXPECT_EQ(e.place().lineno, 7);
  EXPECT_EQ(e.code(), 6);
}

TEST(HostCompiler, ContractionIsOff) {
  // With a fused multiply-add, a*b - a*b keeps the rounding error of the product.
  const std::string text = R"(
    extern "C" void k(const void* args, long, long, long) {
      double* p = *(double* const*)((const char*)args + 56);
      p[2] = p[0] * p[1] - p[3];
    })";
  const Binary binary = compile_host(find_host_compiler(), text, "k");
  const auto module = load_shared_object(binary);
  struct {
    WtLaunch launch;
    double* data;
  } args{};
  double data[4] = {1 + 0x1p-30, 1 + 0x1p-30, -1, (1 + 0x1p-30) * (1 + 0x1p-30)};
  args.data = data;
  LaunchShape shape{.dim = {1, 1, 1, 1}};
  const Entry* entry = module->entry("k");
  module->plan(entry, shape);
  args.launch = launch_header(shape);
  module->launch(entry, shape, &args, sizeof args, {});
  EXPECT_EQ(data[2], 0.0);
}

TEST(HostCompiler, CacheTagHoldsVersionFlagsAndFeatures) {
  const HostCompiler& compiler = find_host_compiler();
  const std::string tag = host_cache_tag(compiler, {});
  EXPECT_THAT(tag, HasSubstr(compiler.version));
  EXPECT_THAT(tag, HasSubstr("-ffp-contract=off"));
  EXPECT_THAT(tag, HasSubstr(std::string(host_arch())));
  EXPECT_NE(tag, host_cache_tag(compiler, {.debug = true}));
  EXPECT_NE(tag, host_cache_tag(compiler, {.arch = "x86-64"}));
}

TEST(SharedObject, ManyModulesWithTheSameKernelNameStayApart) {
  // Descriptors are used again after each load; the loader must not take the old module.
  for (int i = 0; i < 5; ++i) {
    const std::string text =
        cat("extern \"C\" void k(const void* args, long, long, long) {"
            " **(int* const*)((const char*)args + 56) = ",
            i, "; }");
    const auto first =
        load_shared_object(compile_host(find_host_compiler(), text, "k", {.debug = true}));
    struct {
      WtLaunch launch;
      int* out;
    } args{};
    int out = -1;
    args.out = &out;
    LaunchShape shape;
    static std::vector<std::shared_ptr<Executable>> alive;
    alive.push_back(first);
    const Entry* entry = first->entry("k");
    first->plan(entry, shape);
    first->launch(entry, shape, &args, sizeof args, {});
    EXPECT_EQ(out, i);
  }
}

TEST(SharedObject, ErrorsNameTheModule) {
  try {
    load_shared_object({.name = "broken", .data = "this is no shared object"});
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_THAT(e.what(), HasSubstr("could not load the CPU module broken"));
  }
  EXPECT_THROW(load_shared_object({.kind = BinaryKind::kCubin, .name = "k", .arch = "sm_90"}),
               DeviceError);
  EXPECT_THROW(load_shared_object({.name = "k", .arch = "x86-64-v9"}), DeviceError);
}

}  // namespace
}  // namespace wt::rt
