// SPDX-License-Identifier: Apache-2.0
// test_rules.cpp: the derivative rule of every builtin row against finite differences, and the same
// rules with a wrong sign, which this must tell from right ones.
#include <gtest/gtest.h>

#include <random>

#include "csrc/codegen/builtins/row_table.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"
#include "tests/ad/gradient_check.h"
#include "tests/random/row_call.h"

namespace wt::test {
namespace {

constexpr double kSeen = 1e-3;
constexpr double kRight = 2e-6;
constexpr unsigned kTries = 16;  ///< samples of the domain; some parts of a rule hold in a part of it

/// kernel @k(x, y): y[0] = the row's results on numbers that depend on x.
Case case_of(const BoundRow& row, unsigned seed) {
  std::mt19937 random(seed);
  ir::Module m;
  m.funcs.push_back(std::make_unique<ir::Func>());
  ir::Func& f = *m.funcs.back();
  f.kernel = true;
  f.name = "k";
  ir::Value* x = f.body.add_arg(ir::array_type(ir::f64_type(), 1), "x");
  ir::Value* y = f.body.add_arg(ir::array_type(ir::f64_type(), 1), "y");
  ir::Builder b(&f.body);
  RowSource source;
  source.real = ir::f64_type();
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
  return {.text = ir::print(m), .args = {array({4}, 1, static_cast<int>(seed)), array({1})}};
}

/// Rows whose rule works on f64, each with the sizes 2, 3 and 4 where they may vary.
std::vector<BoundRow> rows_with_rules() {
  std::vector<BoundRow> out;
  for_each_bound_row("f64", {2, 3, 4}, [&](const BoundRow& row) {
    bool real = false;
    for (ir::Type t : row.operands) real |= ir::is_numeric(t) && t->scalar == ir::Scalar::kF64;
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

}  // namespace
}  // namespace wt::test
