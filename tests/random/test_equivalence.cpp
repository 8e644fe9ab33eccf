// SPDX-License-Identifier: Apache-2.0
// test_equivalence.cpp: passes keep what random programs compute. A failure prints the seed;
// WT_SEED=n runs that program alone.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

#include "csrc/codegen/interp/interp.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"
#include "tests/random/compiled_rows.h"
#include "tests/random/random_program.h"

namespace wt {
namespace {

constexpr uint64_t kPrograms = 100;
constexpr int64_t kThreads = 3;

struct Memory {
  std::array<float, 8> f{};
  std::array<int32_t, 8> i{};
  std::array<float, 64> m{};

  bool operator==(const Memory& o) const {
    const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    return std::equal(f.begin(), f.end(), o.f.begin(), same) && i == o.i &&
           std::equal(m.begin(), m.end(), o.m.begin(), same);
  }
};

template <class T>
WtArray array_1d(T* data) {
  return {.data = reinterpret_cast<char*>(data),
          .shape = {8, 1, 1, 1},
          .stride = {sizeof(T), 0, 0, 0},
          .batch_stride = 0,
          .ndim = 1,
          .flags = 0};
}

Memory execute(const ir::Module& m, uint64_t seed) {
  Memory memory;
  for (size_t k = 0; k < 8; ++k) {
    memory.f[k] = 0.5f * static_cast<float>((seed + 3 * k) % 11) - 2.25f;
    memory.i[k] = static_cast<int32_t>((seed + 5 * k) % 13) - 6;
  }
  for (size_t k = 0; k < 64; ++k) memory.m[k] = 0.125f * static_cast<float>((seed + 7 * k) % 29);
  const float x = 1.5f;
  const auto n = static_cast<int32_t>(seed % 5);
  const WtArray f = array_1d(memory.f.data());
  const WtArray i = array_1d(memory.i.data());
  WtArray rows = array_1d(memory.m.data());
  rows.shape[1] = 8;
  rows.stride[0] = 8 * sizeof(float);
  rows.stride[1] = sizeof(float);
  rows.ndim = 2;
  const void* const params[] = {&x, &n, &f, &i, &rows, &f};
  const WtLaunch launch{.dim = {1, 1, 1, kThreads}, .size = kThreads, .batch = 1, .lanes = 1};
  interp::Interpreter run(m, {.check_bounds = true, .max_ops = 2'000'000, .output = nullptr, .builtin = test::run_compiled_row});
  run.run("k", launch, params, 0, kThreads);
  return memory;
}

/// Seeds to run: all, or the one of WT_SEED.
std::vector<uint64_t> seeds() {
  if (const char* one = std::getenv("WT_SEED")) return {std::strtoull(one, nullptr, 10)};
  std::vector<uint64_t> all;
  for (uint64_t s = 1; s <= kPrograms; ++s) all.push_back(s);
  return all;
}

void apply(ir::Module& m, std::initializer_list<std::string_view> names) {
  passes::run(m, std::vector<std::string_view>(names), {.verify = true, .dump = {}, .times = {}});
}

class Equivalence : public testing::TestWithParam<std::string> {
 protected:
  /// Runs the programs before and after `transform`; stops at the first difference.
  template <class Fn>
  void check(Fn&& transform) {
    int changed = 0;
    for (const uint64_t seed : seeds()) {
      SCOPED_TRACE("WT_SEED=" + std::to_string(seed));
      const auto program = ir::random_program(seed);
      ASSERT_NO_THROW(ir::verify(*program));
      const auto copy = ir::clone(*program);
      ASSERT_NO_THROW(transform(*copy)) << ir::print(*program);
      const std::string text = ir::print(*copy);
      changed += text != ir::print(*program);
      ASSERT_EQ(ir::print(*ir::parse(text)), text);
      ASSERT_TRUE(execute(*program, seed) == execute(*copy, seed))
          << ir::print(*program) << "\n---- becomes ----\n"
          << text;
    }
    EXPECT_TRUE(changed > 0 || seeds().size() == 1);
  }
};

TEST_P(Equivalence, OnVariables) {
  if (GetParam() == "loop_fusion") GTEST_SKIP() << "variables keep the loops apart";
  check([&](ir::Module& m) { apply(m, {GetParam()}); });
}

TEST_P(Equivalence, OnValues) {
  check([&](ir::Module& m) { apply(m, {"inline", "mem2reg", "unroll", GetParam(), "dce"}); });
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const passes::PassInfo& p : passes::all_passes()) {
    // The programs ask for no gradient of a function and have no functions with their own.
    if (p.name == "gradients" || p.name == "detach") continue;
    if (p.name == "reverse") break;  // From here on passes change what a kernel is.
    if (p.name != "contract") names.emplace_back(p.name);  // It rounds differently, by intent.
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Passes, Equivalence, testing::ValuesIn(pass_names()),
                         [](const auto& info) { return info.param; });

using Pipeline = Equivalence;

TEST_F(Pipeline, OptimizeKeepsResultsAndLeavesNoVariables) {
  check([](ir::Module& m) {
    passes::optimize(m, {.verify = true, .dump = {}, .times = {}});
    for (const auto& f : m.funcs) {
      ir::walk(static_cast<const ir::Region&>(f->body), [](const ir::Op& op) {
        EXPECT_NE(op.code, ir::OpCode::kVar);
        EXPECT_NE(op.code, ir::OpCode::kCall);
      });
    }
  });
}

TEST_F(Pipeline, OptimizeOfItsOutputChangesNothing) {
  for (const uint64_t seed : seeds()) {
    SCOPED_TRACE("WT_SEED=" + std::to_string(seed));
    const auto m = ir::random_program(seed);
    passes::optimize(*m);
    const std::string once = ir::print(*m);
    passes::optimize(*m);
    ASSERT_EQ(ir::print(*m), once);
  }
}

TEST_F(Pipeline, AnyOrderOfPassesKeepsResults) {
  const std::vector<std::string> names = pass_names();
  uint64_t state = 1;
  check([&](ir::Module& m) {
    for (int k = 0; k < 6; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      apply(m, {names[(state >> 33) % names.size()]});
    }
  });
}

}  // namespace
}  // namespace wt
