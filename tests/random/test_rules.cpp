// SPDX-License-Identifier: Apache-2.0
// test_rules.cpp: the derivative rule of every builtin row against finite differences, and the same
// rules with a wrong sign, which this must tell from right ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "csrc/codegen/builtins/row_table.h"
#include "csrc/codegen/interp/interp.h"
#include "csrc/codegen/ir/encode.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"
#include "tests/ad/gradient_check.h"
#include "tests/random/compiled_rows.h"
#include "tests/random/row_call.h"

namespace wt::test {
namespace {

constexpr double kSeen = 1e-3;
constexpr double kRight = 2e-6;
constexpr unsigned kTries =
    16;  ///< samples of the domain; some parts of a rule hold in a part of it

/// kernel @k(x, y): y[0] = the row's results on numbers that depend on x.
std::unique_ptr<ir::Module> kernel_of(const BoundRow& row, unsigned seed, ir::Scalar real,
                                      bool squash) {
  std::mt19937 random(seed);
  auto m = std::make_unique<ir::Module>();
  m->funcs.push_back(std::make_unique<ir::Func>());
  ir::Func& f = *m->funcs.back();
  f.kernel = true;
  f.name = "k";
  ir::Value* x = f.body.add_arg(ir::array_type(ir::scalar_type(real), 1), "x");
  ir::Value* y = f.body.add_arg(ir::array_type(ir::scalar_type(real), 1), "y");
  ir::Builder b(&f.body);
  RowSource source;
  source.real = ir::scalar_type(real);
  source.squash = squash;
  source.pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  source.uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  int next = 0;
  source.number = [&] {
    ir::Value* const at[] = {b.const_int(next++ % 4, ir::i32_type())};
    return b.load(x, at);
  };
  ir::Value* thread = b.tid(0);
  source.natural = [&] { return b.add(thread, b.const_int(source.pick(8), ir::i32_type())); };
  ir::Value* const first[] = {b.const_int(0, ir::i32_type())};
  b.store(y, call_row(b, row, source), first);
  b.ret();
  return m;
}

Case case_of(const BoundRow& row, unsigned seed) {
  return {.text = ir::print(*kernel_of(row, seed, ir::Scalar::kF64, true)),
          .args = {array({4}, 1, static_cast<int>(seed)), array({1})}};
}

/// Rows whose rule works on that type, each with the sizes 2, 3 and 4 where they may vary.
std::vector<BoundRow> rows_with_rules(ir::Scalar s = ir::Scalar::kF64) {
  std::vector<BoundRow> out;
  for_each_bound_row(std::string(ir::to_string(s)), {2, 3, 4}, [&](const BoundRow& row) {
    bool real = false;
    for (ir::Type t : row.operands) real |= ir::is_numeric(t) && t->scalar == s;
    if (real && row.def->grad == Grad::kRule) out.push_back(row);
  });
  return out;
}

/// The table's own rule, to change and to put back.
builtins::Rule& rule_of(const BuiltinDef& def) {
  return const_cast<builtins::RowInfo&>(builtins::row_info(def)).vjp;
}

builtins::RuleExpr negated(builtins::RuleExpr e) {
  return {.kind = builtins::RuleExpr::Kind::kCall,
          .number = 0,
          .name = "neg",
          .args = {std::move(e)},
          .indices = {}};
}

/// True if one of the checks sees the rule as it now is.
bool seen(const BoundRow& row) {
  for (unsigned seed = 1; seed <= kTries; ++seed) {
    const Case c = case_of(row, seed);
    if (error_of(c, run_reverse(c)) > kSeen || tangent_error_of(c) > kSeen) return true;
  }
  return false;
}

TEST(Rules, AgreeWithFiniteDifferences) {
  unsigned count = 0;
  for (const BoundRow& row : rows_with_rules()) {
    for (unsigned seed = 1; seed <= 2; ++seed) {
      SCOPED_TRACE(row_key(row.def->name, row.operands));
      const Case c = case_of(row, seed);
      EXPECT_LT(error_of(c, run_reverse(c)), kRight);
      EXPECT_LT(tangent_error_of(c), kRight);
      ++count;
    }
  }
  EXPECT_GT(count, 700u);
}

TEST(PlantedFaults, AWrongSignInAnyTermOfAnyRuleIsSeen) {
  const BuiltinDef* last = nullptr;
  unsigned planted = 0;
  for (const BoundRow& row : rows_with_rules()) {
    if (row.def == last || row.def->name == "pos") continue;  // pos(x) is x before.
    last = row.def;
    builtins::Rule& rule = rule_of(*row.def);
    for (builtins::RuleStatement& s : rule) {
      const size_t i = s.accumulate ? builtins::row_info(*row.def).param_index(s.target) : 0;
      if (!s.accumulate || row.operands[i]->scalar != ir::Scalar::kF64) continue;
      const builtins::RuleExpr right = s.value;
      s.value = negated(right);
      EXPECT_TRUE(seen(row)) << row.def->name << row.def->sig << ": " << s.target;
      s.value = right;
      ++planted;
    }
  }
  EXPECT_GT(planted, 350u);
}

/// y[0], then dy[0]/dx by the row's rule, computed in that type throughout.
std::vector<double> value_and_gradient(const BoundRow& row, unsigned seed, ir::Scalar s) {
  auto m = kernel_of(row, seed, s, false);
  passes::optimize(*m);
  const ad::Adjoint a = ad::reverse(*m, {true, true});
  const size_t size = static_cast<size_t>(ir::bits(s)) / 8;
  std::vector<std::vector<char>> memory;
  std::vector<WtArray> arrays;
  for (const std::vector<double>& values :
       {std::vector{0.5, 0.75, 1.25, 1.5}, {0.0}, {0.0, 0.0, 0.0, 0.0}, {1.0}}) {
    auto& bytes = memory.emplace_back(values.size() * size);
    for (size_t i = 0; i < values.size(); ++i)
      ir::encode_scalar(s, 0, values[i], bytes.data() + i * size);
    arrays.push_back({.data = bytes.data(),
                      .shape = {static_cast<int64_t>(values.size()), 1, 1, 1},
                      .stride = {static_cast<int64_t>(size), 0, 0, 0},
                      .batch_stride = 0,
                      .ndim = 1,
                      .flags = 0});
  }
  const WtLaunch launch{.dim = {1, 1, 1, 1}, .size = 1, .batch = 1, .lanes = 1};
  const interp::Options options{
      .check_bounds = true, .max_ops = 0, .output = nullptr, .builtin = run_compiled_row};
  const void* const params[] = {&arrays[0], &arrays[1], &arrays[2], &arrays[3]};
  interp::Interpreter(*m, options).run("k", launch, std::span(params).first(2), 0, 1);
  interp::Interpreter(*a.adjoint, options)
      .run(a.adjoint->funcs.front()->name, launch, params, 0, 1);
  std::vector<double> out = {ir::decode_scalar(s, memory[1].data())};
  for (size_t i = 0; i < 4; ++i) out.push_back(ir::decode_scalar(s, memory[2].data() + i * size));
  return out;
}

/// Value and gradient of every row on that type are within the tolerance of those on f64 for one of
/// a few samples: rounded operands may be on the other side of a kink, or ill-conditioned.
void expect_near_f64(ir::Scalar s, double tolerance) {
  const std::vector<BoundRow> half = rows_with_rules(s), full = rows_with_rules();
  std::map<std::string, const BoundRow*> of_f64;
  for (const BoundRow& row : full) {
    std::string key = cat(row.def->name, row.def->sig);
    for (ir::Type t : row.operands) append(key, " ", t->rows, "x", t->cols);
    of_f64[key] = &row;
  }
  int checked = 0;
  for (const BoundRow& row : half) {
    std::string key = cat(row.def->name, row.def->sig);
    for (ir::Type t : row.operands) append(key, " ", t->rows, "x", t->cols);
    const BoundRow& reference = *of_f64.at(key);
    double best = 1e9;
    for (unsigned seed = 1; seed <= 4 && !(best < tolerance); ++seed) {
      const auto got = value_and_gradient(row, seed, s);
      const auto want = value_and_gradient(reference, seed, ir::Scalar::kF64);
      double scale = 1e-2;
      double error = std::abs(got[0] - want[0]) / std::max(1.0, std::abs(want[0]));
      for (size_t i = 1; i < want.size(); ++i) scale = std::max(scale, std::abs(want[i]));
      for (size_t i = 1; i < want.size(); ++i) {
        const double e = std::abs(got[i] - want[i]) / scale;
        error = std::isnan(e) ? 1e9 : std::max(error, e);
      }
      best = std::min(best, error);
    }
    EXPECT_LT(best, tolerance) << key << " on " << ir::to_string(s);
    ++checked;
  }
  EXPECT_GT(checked, 500);
}

TEST(Rules, OnFloat16AreNearThoseOnFloat64) { expect_near_f64(ir::Scalar::kF16, 0.02); }
TEST(Rules, OnBfloat16AreNearThoseOnFloat64) { expect_near_f64(ir::Scalar::kBF16, 0.15); }

}  // namespace
}  // namespace wt::test
