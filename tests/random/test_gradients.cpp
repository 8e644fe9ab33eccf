// SPDX-License-Identifier: Apache-2.0
// test_gradients.cpp: adjoints and tangents of random kernels against finite differences.
// WT_SEED=17 runs that kernel alone; WT_RANDOM_KERNELS=1000 runs that many, from WT_FIRST_SEED on,
// and goes on after a failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "csrc/codegen/ad/reverse.h"
#include "csrc/codegen/passes/passes.h"
#include "csrc/codegen/support/error.h"
#include "tests/random/coverage.h"
#include "tests/random/kernel_case.h"

namespace wt::test {
namespace {

unsigned from_environment(const char* name, unsigned otherwise) {
  const char* text = std::getenv(name);
  return text ? static_cast<unsigned>(std::atoi(text)) : otherwise;
}

TEST(RandomKernels, AgreeWithFiniteDifferences) {
  const bool single = std::getenv("WT_SEED");
  const bool many = std::getenv("WT_RANDOM_KERNELS");
  const unsigned first = from_environment(single ? "WT_SEED" : "WT_FIRST_SEED", 1);
  const unsigned count = single ? 1 : from_environment("WT_RANDOM_KERNELS", 300);
  unsigned refused = 0, nested_in_place = 0, old_values = 0;
  int64_t elements = 0, by_tangent = 0;
  for (unsigned seed = first; seed < first + count && (many || !HasFailure()); ++seed) {
    const Case c = random_case(seed);
    const auto program = ir::parse(c.text);
    const Features has = features_of(*program);
    nested_in_place += has.nested_data_dependent && has.changes_in_place;
    old_values += has.uses_old_values;
    SCOPED_TRACE(cat("WT_SEED=", seed));
    if (single) std::cout << c.text;
    if (many && seed % 500 == 0) std::cout << "at seed " << seed << std::endl;
    try {
      const Outcome out = check_gradient(c);
      EXPECT_EQ(plain_collisions(c, out.adjoint), 0) << "two threads update one element";
      elements += out.elements;
      by_tangent += out.by_tangent;
      if (many && out.by_tangent) std::cout << "by tangents: " << seed << "\n";
    } catch (const GradientError& e) {
      if (single) std::cout << e.what() << "\n";
      std::cout << "refused: " << seed << "\n";
      ++refused;
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
  // Everything in these kernels is differentiable and bounded.
  EXPECT_EQ(refused, 0u);
  std::cout << count << " kernels from seed " << first << " on: " << nested_in_place
            << " with data-dependent control flow in a loop and arrays changed in place, "
            << old_values << " with values of atomics; of " << elements << " elements "
            << by_tangent << " have no difference quotients that agree\n";
  if (single || count < 200) return;
  // None in 4,000 kernels from two other places on.
  EXPECT_LE(10'000 * by_tangent, elements);
  EXPECT_GE(10 * nested_in_place, 3 * count);
  EXPECT_GE(10 * old_values, 2 * count);
}

std::vector<std::string_view> passes_for_kernels() {
  std::vector<std::string_view> names;
  for (const passes::PassInfo& p : passes::all_passes()) {
    if (p.name == "reverse") break;
    if (p.name != "contract") names.push_back(p.name);  // It runs before differentiation.
  }
  names.push_back("merge_updates");
  names.push_back("loop_memory");
  return names;
}

/// One pass on every form, with what holds after each.
void run_pass(std::string_view pass, const Forms& forms) {
  const std::string_view names[] = {pass};
  for (ir::Module* m : {forms.primal.get(), forms.tangent.get(), forms.adjoint.adjoint.get(),
                        forms.adjoint.augmented.get()}) {
    const bool of_adjoints = pass == "merge_updates" || pass == "loop_memory";
    if (!m || (of_adjoints && m != forms.adjoint.adjoint.get())) continue;
    passes::run(*m, names, {.verify = true, .dump = {}, .times = {}});
    const std::string text = ir::print(*m);
    EXPECT_EQ(ir::print(*ir::parse(text)), text);
  }
}

void expect_same(const std::vector<std::vector<double>>& got,
                 const std::vector<std::vector<double>>& want) {
  double scale = 1;
  for (const auto& values : want) {
    for (double x : values) scale = std::max(scale, std::abs(x));
  }
  for (size_t i = 0; i < want.size(); ++i) {
    for (size_t k = 0; k < want[i].size(); ++k) {
      ASSERT_NEAR(got[i][k], want[i][k], 1e-9 * scale) << "result " << i << ", element " << k;
    }
  }
}

std::string contracted(const std::string& text) {
  const auto m = ir::parse(text);
  passes::optimize(*m);
  const std::string_view names[] = {"contract"};
  passes::run(*m, names, {.verify = true, .dump = {}, .times = {}});
  return ir::print(*m);
}

// One pass after the other, on kernel, adjoint and tangent.
TEST(RandomKernels, KeepTheirResultsUnderEveryPass) {
  const unsigned first = from_environment("WT_SEED", from_environment("WT_FIRST_SEED", 1));
  const unsigned count = std::getenv("WT_SEED") ? 1 : from_environment("WT_RANDOM_KERNELS", 25);
  for (unsigned seed = first; seed < first + count && !HasFailure(); ++seed) {
    const Case c = random_case(seed);
    Forms forms = forms_of(c);
    const auto want = results_of(c, forms);
    SCOPED_TRACE(cat("WT_SEED=", seed));
    for (const std::string_view pass : passes_for_kernels()) {
      SCOPED_TRACE(pass);
      run_pass(pass, forms);
      expect_same(results_of(c, forms), want);
    }
    // This one rounds differently, by intent, in all forms alike.
    Case fused = c;
    fused.text = contracted(c.text);
    expect_same(results_of(fused, forms_of(fused)), want);
    // Histories as values, before they have memory.
    ad::Mask mask;
    for (const auto& p : forms.primal->funcs.front()->body.args)
      mask.push_back(ir::is_differentiable(p->type));
    Forms free = forms_of(c);
    free.adjoint = ad::reverse_plan_free(*free.primal, mask);
    SCOPED_TRACE("reverse without a plan");
    expect_same(results_of(c, free), want);
  }
}

// The tangent kernel is a kernel like any other, with its own derivatives.
TEST(RandomKernels, HaveSecondDerivatives) {
  int checked = 0;
  const unsigned first = from_environment("WT_FIRST_SEED", 1);
  const unsigned count = from_environment("WT_RANDOM_KERNELS", 14);
  for (unsigned seed = first; seed < first + count && !HasFailure(); ++seed) {
    Case c = random_case(seed);
    if (!c.tangent) continue;
    SCOPED_TRACE(cat("WT_SEED=", seed));
    c.text = tangent_text(c.text);
    for (const Arg& t :
         {array({5}, 1, 11), array({3}, 1, 12), array({3, 4}, 1, 13), array({1}, 1, 14),
          scalar(0.2), vector({0.3, 0.5, -0.6}), array({3}, 3, 15), array({2}, 1, 16),
          array({3}, 4, 17), fields({array({3}, 1, 18), integer(5)})}) {
      c.args.push_back(t);
    }
    c.slots = {2};
    c.tolerance = 4e-6;
    try {
      check_gradient(c);
      ++checked;
    } catch (const GradientError& e) {
      // Some rules have no derivative of their own.
      EXPECT_NE(std::string(e.what()).find("WT301"), std::string::npos) << e.what();
    }
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
}  // namespace wt::test
