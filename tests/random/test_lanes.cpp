// SPDX-License-Identifier: Apache-2.0
// test_lanes.cpp: random kernels on vectors of threads give each thread what the interpreter gives.
// WT_SEED=17 runs that kernel alone; WT_LANE_KERNELS=1000 runs that many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>

#include "csrc/codegen/emit/target.h"
#include "csrc/codegen/interp/interp.h"
#include "csrc/codegen/ir/encode.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/text.h"
#include "csrc/runtime/devices.h"
#include "tests/random/compiled_kernels.h"
#include "tests/random/compiled_rows.h"
#include "tests/random/lane_kernel.h"

namespace wt::test {
namespace {

constexpr int64_t kThreads = 37;  // Two vectors of sixteen and a rest.
constexpr int64_t kRows = 4;

/// Every array's numbers after the kernel has run.
std::vector<double> results(const ir::Module& m, Executor* on) {
  const ir::Scalar s = m.funcs.front()->body.args[4]->type->scalar;
  const auto size = static_cast<size_t>(ir::bits(s)) / 8;
  const int64_t counts[] = {kThreads, 3 * kThreads, kRows * kThreads, 1};
  std::vector<std::vector<char>> memory;
  std::vector<WtArray> arrays;
  for (const int64_t n : counts) {
    auto& bytes = memory.emplace_back(static_cast<size_t>(n) * size);
    for (int64_t i = 0; i < n; ++i) {
      const double x = std::sin(1.7 * static_cast<double>(i + n));
      ir::encode_scalar(s, 0, x, bytes.data() + static_cast<size_t>(i) * size);
    }
    arrays.push_back({.data = bytes.data(),
                      .shape = {n, 1, 1, 1},
                      .stride = {static_cast<int64_t>(size), 0, 0, 0},
                      .batch_stride = 0,
                      .ndim = 1,
                      .flags = 0});
  }
  arrays[1].shape[0] = kThreads;
  arrays[1].stride[0] *= 3;
  arrays[2].ndim = 2;
  arrays[2].shape[0] = kRows;
  arrays[2].shape[1] = kThreads;
  arrays[2].stride[1] = arrays[2].stride[0];
  arrays[2].stride[0] *= kThreads;
  char factor[8];
  ir::encode_scalar(s, 0, 0.6, factor);
  const int32_t n = 3;
  const std::vector<const void*> params = {&arrays[0], &arrays[1], &arrays[2],
                                           &arrays[3], factor,     &n};
  const WtLaunch launch{.dim = {kThreads, 1, 1, 1}, .size = kThreads, .batch = 1, .lanes = 1};
  if (on) {
    on->run(m, launch, params);
  } else {
    interp::Interpreter run(
        m, {.check_bounds = true, .max_ops = 0, .output = nullptr, .builtin = run_compiled_row});
    run.run("k", launch, params, 0, kThreads);
  }
  std::vector<double> out;
  for (const auto& bytes : memory) {
    for (size_t at = 0; at < bytes.size(); at += size)
      out.push_back(ir::decode_scalar(s, bytes.data() + at));
  }
  return out;
}

TEST(LaneKernels, GiveEveryThreadWhatTheInterpreterGives) {
  const auto from_environment = [](const char* name, unsigned otherwise) {
    const char* text = std::getenv(name);
    return text ? static_cast<unsigned>(std::atoi(text)) : otherwise;
  };
  const unsigned first = from_environment("WT_SEED", 1);
  const unsigned count = std::getenv("WT_SEED") ? 1 : from_environment("WT_LANE_KERNELS", 30);
  unsigned on_vectors = 0;
  for (unsigned done = 0; done < count; done += 50) {
    CompiledKernels compiled(*rt::find_device("cpu"));
    std::map<unsigned, std::unique_ptr<ir::Module>> kernels;
    for (unsigned seed = first + done; seed < first + std::min(done + 50, count); ++seed) {
      auto m = lane_kernel(seed);
      passes::optimize(*m);
      const std::string text = emit_cxx(*m, "cpu").text;
      const std::string body = text.substr(text.find("k_run("));
      on_vectors += body.find("wt_f32v") != body.npos || body.find("wt_f64v") != body.npos;
      compiled.add(*m);
      kernels.emplace(seed, std::move(m));
    }
    compiled.build();
    for (const auto& [seed, m] : kernels) {
      SCOPED_TRACE(cat("WT_SEED=", seed));
      const bool wide = m->funcs.front()->body.args[4]->type == ir::f64_type();
      const auto want = results(*m, nullptr), got = results(*m, &compiled);
      const double tolerance = wide ? 1e-9 : 1e-4;
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], tolerance * std::max(1.0, std::abs(want[i]))) << i;
      }
    }
  }
  std::cout << on_vectors << " of " << count << " kernels on vectors of threads\n";
  EXPECT_TRUE(count < 30 || 2 * on_vectors >= count);
}

}  // namespace
}  // namespace wt::test
