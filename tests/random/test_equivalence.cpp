// SPDX-License-Identifier: Apache-2.0
// test_equivalence.cpp: passes keep what random programs compute. A failure prints the seed;
// WT_SEED=n runs that program alone, WT_PROGRAMS=1000 that many in every test.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "csrc/codegen/interp/interp.h"
#include "csrc/codegen/ir/builder.h"
#include "csrc/codegen/ir/encode.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"
#include "tests/random/compiled_rows.h"
#include "tests/random/random_program.h"

namespace wt {
namespace {

constexpr uint64_t kPrograms = 300;
constexpr uint64_t kProgramsOfAPass = 50;  ///< others for each pass
constexpr int64_t kThreads = 3;

/// What a program reads and writes; arrays of F and i32.
struct Memory {
  ir::Scalar real;
  std::vector<char> f, i, m, t;
  std::string printed;

  Memory(ir::Scalar s, uint64_t seed) : real(s) {
    for (uint64_t k = 0; k < 8; ++k) {
      put(f, s, 0.5 * static_cast<double>((seed + 3 * k) % 11) - 2.25);
      put(i, ir::Scalar::kI32, static_cast<double>((seed + 5 * k) % 13) - 6);
      put(t, ir::Scalar::kF32, 0.125 * static_cast<double>(k + 1));
    }
    for (uint64_t k = 0; k < 64; ++k) put(m, s, 0.125 * static_cast<double>((seed + 7 * k) % 29));
  }

  static void put(std::vector<char>& to, ir::Scalar s, double x) {
    to.resize(to.size() + static_cast<size_t>(ir::bits(s)) / 8);
    ir::encode_scalar(s, static_cast<int64_t>(x), x, to.data() + to.size() - ir::bits(s) / 8);
  }

  bool same_floats(const std::vector<char>& a, const std::vector<char>& b) const {
    for (size_t at = 0; at < a.size(); at += static_cast<size_t>(ir::bits(real)) / 8) {
      const double x = ir::decode_scalar(real, a.data() + at);
      const double y = ir::decode_scalar(real, b.data() + at);
      if (x != y && !(std::isnan(x) && std::isnan(y))) return false;
    }
    return true;
  }
  bool operator==(const Memory& o) const {
    return same_floats(f, o.f) && i == o.i && same_floats(m, o.m) && printed == o.printed;
  }
};

WtArray array_1d(std::vector<char>& data, size_t size) {
  return {.data = data.data(),
          .shape = {8, 1, 1, 1},
          .stride = {static_cast<int64_t>(size), 0, 0, 0},
          .batch_stride = 0,
          .ndim = 1,
          .flags = 0};
}

Memory execute(const ir::Module& module, uint64_t seed) {
  const ir::Scalar s = module.find("k")->body.args[0]->type->scalar;
  Memory memory(s, seed);
  const size_t size = static_cast<size_t>(ir::bits(s)) / 8;
  std::vector<char> x;
  Memory::put(x, s, 1.5);
  const auto n = static_cast<int32_t>(seed % 5);
  const WtArray f = array_1d(memory.f, size), i = array_1d(memory.i, 4), t = array_1d(memory.t, 4);
  WtArray rows = array_1d(memory.m, size);
  rows.shape[1] = 8;
  rows.stride[0] = static_cast<int64_t>(8 * size);
  rows.stride[1] = static_cast<int64_t>(size);
  rows.ndim = 2;
  const void* const params[] = {x.data(), &n, &f, &i, &rows, &f, &t};
  const WtLaunch launch{.dim = {1, 1, 1, kThreads}, .size = kThreads, .batch = 1, .lanes = 1};
  interp::Interpreter run(module, {.check_bounds = true,
                                   .max_ops = 2'000'000,
                                   .output = &memory.printed,
                                   .builtin = test::run_compiled_row});
  run.run("k", launch, params, 0, kThreads);
  return memory;
}

/// Seeds to run: `count` from a place on that `of` chooses, WT_PROGRAMS of them, or the one of
/// WT_SEED.
std::vector<uint64_t> seeds(uint64_t count, std::string_view of = {}) {
  const auto number = [](const char* text) { return std::strtoull(text, nullptr, 10); };
  if (const char* one = std::getenv("WT_SEED")) return {number(one)};
  if (const char* many = std::getenv("WT_PROGRAMS")) count = number(many);
  uint64_t first = 1;
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
  check(seeds(kPrograms, "order"), [&](ir::Module& m) {
    for (int k = 0; k < 6; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      apply(m, {names[(state >> 33) % names.size()]});
    }
  });
}

}  // namespace
}  // namespace wt
