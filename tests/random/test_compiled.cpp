// SPDX-License-Identifier: Apache-2.0
// test_compiled.cpp: random kernels, their adjoints and tangents compiled, 50 to a module, against
// the interpreter. WT_SEED=17 runs that kernel alone; WT_COMPILED_KERNELS=1000 runs that many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/text.h"
#include "csrc/runtime/cuda_device.h"
#include "csrc/runtime/devices.h"
#include "csrc/runtime/target.h"
#include "tests/random/compiled_kernels.h"
#include "tests/random/kernel_case.h"
#include "tests/random/program_run.h"
#include "tests/random/random_program.h"
#include "tests/runtime/nvrtc_folders.h"

namespace wt::test {
namespace {

constexpr unsigned kOfAModule = 50;

unsigned from_environment(const char* name, unsigned otherwise) {
  const char* text = std::getenv(name);
  return text ? static_cast<unsigned>(std::atoi(text)) : otherwise;
}

void expect_same(const std::vector<std::vector<double>>& got,
                 const std::vector<std::vector<double>>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  double scale = 1e-3;
  for (const auto& values : want) {
    for (double x : values) scale = std::max(scale, std::abs(x));
  }
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].size(), want[i].size());
    for (size_t k = 0; k < want[i].size(); ++k) {
      EXPECT_NEAR(got[i][k], want[i][k], tolerance * scale) << "result " << i << "[" << k << "]";
    }
  }
}

/// Forms of random kernels, added to `compiled`; of the first `full` kernels the derivatives, too.
std::vector<Forms> add_kernels(CompiledKernels& compiled, unsigned first, unsigned count,
                               unsigned full) {
  std::vector<Forms> forms;
  for (unsigned k = 0; k < count; ++k) {
    forms.push_back(forms_of(random_case(first + k), k < full));
    const Forms& f = forms.back();
    for (const ir::Module* m :
         {f.primal.get(), f.adjoint.adjoint.get(), f.adjoint.augmented.get(), f.tangent.get()}) {
      if (m) compiled.add(*m);
    }
  }
  return forms;
}

void check_module(rt::Device& device, unsigned first, unsigned count, unsigned full,
                  double tolerance) {
  CompiledKernels compiled(device);
  const std::vector<Forms> forms = add_kernels(compiled, first, count, full);
  compiled.build();
  for (unsigned k = 0; k < count; ++k) {
    SCOPED_TRACE(cat("WT_SEED=", first + k));
    Case c = random_case(first + k);
    const auto want = results_of(c, forms[k]);
    c.on = &compiled;
    c.lanes = 32;
    expect_same(results_of(c, forms[k]), want, tolerance);
  }
}

void check(rt::Device& device, unsigned full, double tolerance) {
  if (std::getenv("WT_SEED")) {
    return check_module(device, from_environment("WT_SEED", 1), 1, 1, tolerance);
  }
  const unsigned first = from_environment("WT_FIRST_SEED", 1);
  const unsigned count = from_environment("WT_COMPILED_KERNELS", kOfAModule);
  if (count > kOfAModule) full = kOfAModule;
  for (unsigned done = 0; done < count; done += kOfAModule) {
    check_module(device, first + done, kOfAModule, full, tolerance);
  }
}

TEST(CompiledKernels, TheHostGivesWhatTheInterpreterGives) {
  check(*rt::find_device("cpu"), 8, 1e-9);
}

TEST(CompiledKernels, CudaGivesWhatTheInterpreterGives) {
  if (rt::cuda_device_count() == 0) GTEST_SKIP() << rt::cuda_absence();
  rt::testing::use_nvrtc_of_the_build();
  check(*rt::find_device("cuda:0"), 10, 1e-7);
}

TEST(CompiledKernels, NvrtcTakesTheTextWithoutADriver) {
  rt::testing::use_nvrtc_of_the_build();
  if (!rt::nvrtc_present()) GTEST_SKIP() << "no NVRTC";
  CompiledKernels kernels(*rt::find_device("cpu"));
  const unsigned count = from_environment("WT_COMPILED_KERNELS", 1);
  add_kernels(kernels, from_environment("WT_SEED", 1), count, count);
  const auto target = rt::make_target("cuda", "sm_90");
  EXPECT_FALSE(target->compile(target->emit(kernels.kernels()), "random kernels").data.empty());
}

// Programs of all float types, without derivatives, give the very bits.
TEST(CompiledPrograms, TheHostGivesWhatTheInterpreterGives) {
  const unsigned first = from_environment("WT_SEED", from_environment("WT_FIRST_SEED", 1));
  const unsigned count =
      std::getenv("WT_SEED") ? 1 : from_environment("WT_COMPILED_KERNELS", kOfAModule);
  for (unsigned done = 0; done < count; done += kOfAModule) {
    CompiledKernels compiled(*rt::find_device("cpu"));
    std::map<unsigned, std::unique_ptr<ir::Module>> programs;
    for (unsigned seed = first + done; seed < first + std::min(done + kOfAModule, count); ++seed) {
      auto m = ir::random_program(seed);
      passes::optimize(*m);
      // Histories have no code of their own: the pass save_values gives them memory.
      const std::string text = ir::print(*m);
      if (text.find(" print(") != text.npos || text.find("hist_new") != text.npos) continue;
      compiled.add(*m);
      programs.emplace(seed, std::move(m));
    }
    compiled.build();
    for (const auto& [seed, m] : programs) {
      EXPECT_TRUE(run_program(*m, seed) == run_program(*m, seed, &compiled)) << "WT_SEED=" << seed;
    }
  }
}

}  // namespace
}  // namespace wt::test
