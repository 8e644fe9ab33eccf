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
  Coverage coverage;
  for (unsigned seed = first; seed < first + count && (many || !HasFailure()); ++seed) {
    const Case c = random_case(seed);
    const auto program = ir::parse(c.text);
    const Features has = features_of(*program);
    nested_in_place += has.nested_data_dependent && has.changes_in_place;
    old_values += has.uses_old_values;
    coverage.add(*program);
    SCOPED_TRACE("WT_SEED=" + std::to_string(seed));
    if (single) std::cout << c.text;
    try {
      const Outcome out = check_gradient(c);
      coverage.add(*out.adjoint.adjoint);
      if (out.adjoint.augmented) coverage.add(*out.adjoint.augmented);
      EXPECT_EQ(plain_collisions(c, run_reverse(c)), 0) << "two threads update one element";
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
  for (const std::string_view op : coverage.missing_ops()) {
    std::cout << "no kernel has the op " << op << "\n";
  }
  for (const std::string& row : coverage.missing_rows()) {
    ADD_FAILURE() << "no kernel calls " << row;
  }
}

}  // namespace
}  // namespace wt::test
