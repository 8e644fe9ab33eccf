// SPDX-License-Identifier: Apache-2.0
// test_gradients.cpp: adjoints and tangents of random kernels against finite differences.
// WT_SEED=17 runs that kernel alone; WT_RANDOM_KERNELS=1000 runs that many, from WT_FIRST_SEED on,
// and goes on after a failure.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

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
            << old_values << " with values of atomics\n";
  if (single || count < 200) return;
  EXPECT_GE(10 * nested_in_place, 3 * count);
  EXPECT_GE(10 * old_values, 2 * count);
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
          scalar(0.2), vector({0.3, 0.5, -0.6}), array({3}, 3, 15), array({2}, 1, 16)}) {
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
