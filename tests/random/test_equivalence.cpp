// SPDX-License-Identifier: Apache-2.0
// test_equivalence.cpp: passes keep what random programs compute. A failure prints the seed;
// WT_SEED=n runs that program alone, WT_PROGRAMS=1000 that many in every test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"
#include "tests/random/program_run.h"
#include "tests/random/random_program.h"

namespace wt {
namespace {

constexpr uint64_t kPrograms = 300;
constexpr uint64_t kProgramsOfAPass = 50;  ///< others for each pass
/// Seeds to run: `count` from a place on that `of` chooses, or WT_PROGRAMS of them and another
/// WT_FIRST_SEED; or the one of WT_SEED.
std::vector<uint64_t> seeds(uint64_t count, std::string_view of = {}) {
  const auto number = [](const char* text) { return std::strtoull(text, nullptr, 10); };
  if (const char* one = std::getenv("WT_SEED")) return {number(one)};
  if (const char* many = std::getenv("WT_PROGRAMS")) count = number(many);
  uint64_t first = 1;
  if (const char* from = std::getenv("WT_FIRST_SEED")) first = number(from);
  for (const char c : of) first = first * 31 % 100'000 + static_cast<uint64_t>(c);
  std::vector<uint64_t> all;
  for (uint64_t s = 0; s < count; ++s) all.push_back(first + s);
  return all;
}

void apply(ir::Module& m, std::initializer_list<std::string_view> names) {
  passes::run(m, std::vector<std::string_view>(names), {.verify = true, .dump = {}, .times = {}});
}

class Equivalence : public testing::TestWithParam<std::string> {
 protected:
  /// Runs the programs before and after `transform`; stops at the first difference.
  template <class Fn>
  void check(const std::vector<uint64_t>& programs, Fn&& transform) {
    int changed = 0;
    for (const uint64_t seed : programs) {
      SCOPED_TRACE(cat("WT_SEED=", seed));
      const auto program = ir::random_program(seed);
      ASSERT_NO_THROW(ir::verify(*program));
      const auto copy = ir::clone(*program);
      ASSERT_NO_THROW(transform(*copy)) << ir::print(*program);
      const std::string text = ir::print(*copy);
      changed += text != ir::print(*program);
      ASSERT_EQ(ir::print(*ir::parse(text)), text);
      ASSERT_TRUE(test::run_program(*program, seed) == test::run_program(*copy, seed))
          << ir::print(*program) << "\n---- becomes ----\n"
          << text;
    }
    EXPECT_TRUE(changed > 0 || programs.size() == 1);
  }
};

TEST_P(Equivalence, OnVariables) {
  if (GetParam() == "loop_fusion") GTEST_SKIP() << "variables keep the loops apart";
  check(seeds(kProgramsOfAPass, GetParam()), [&](ir::Module& m) { apply(m, {GetParam()}); });
}

TEST_P(Equivalence, OnValues) {
  check(seeds(kProgramsOfAPass, "values " + GetParam()), [&](ir::Module& m) {
    apply(m, {"inline", "mem2reg", "unroll", GetParam(), "dce"});
  });
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
  check(seeds(kPrograms), [](ir::Module& m) {
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
  for (const uint64_t seed : seeds(kPrograms, "output")) {
    SCOPED_TRACE(cat("WT_SEED=", seed));
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
  check(seeds(kPrograms, "order"), [&](ir::Module& m) {
    for (int k = 0; k < 6; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      apply(m, {names[(state >> 33) % names.size()]});
    }
  });
}

}  // namespace
}  // namespace wt
