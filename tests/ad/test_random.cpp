// SPDX-License-Identifier: Apache-2.0
// test_random.cpp: random kernels against finite differences. WT_SEED=17 runs that kernel alone;
// WT_RANDOM_KERNELS=1000 runs that many.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "csrc/codegen/support/error.h"
#include "tests/ad/gradient_check.h"
#include "tests/ad/random_kernel.h"

namespace wt::test {
namespace {

unsigned from_environment(const char* name, unsigned otherwise) {
  const char* text = std::getenv(name);
  return text ? static_cast<unsigned>(std::atoi(text)) : otherwise;
}

TEST(RandomKernels, AgreeWithFiniteDifferences) {
  const bool single = std::getenv("WT_SEED");
  const unsigned first = from_environment("WT_SEED", 1);
  const unsigned count = single ? 1 : from_environment("WT_RANDOM_KERNELS", 300);
  unsigned refused = 0;
  unsigned nested_in_place = 0, old_values = 0;
  for (unsigned seed = first; seed < first + count && !HasFailure(); ++seed) {
    const std::string text = random_kernel(seed);
    const RandomFeatures has = features_of(text);
    nested_in_place += has.nested_data_dependent && has.changes_in_place;
    old_values += has.uses_old_values;
    SCOPED_TRACE("WT_SEED=" + std::to_string(seed) + "\n" + (single ? text : ""));
    const Case c = {
        .text = text,
        .args = {array({5}), array({3}, 1, 1), array({3, 4}, 1, 2), array({1}), scalar(0.7),
                 vector({0.4, -0.3, 1.1}), integer(3), integers({0, 2, 1})},
        .dim = {3},
        .slots = {1, 2, 64},
        .tolerance = 2e-6,
        .kinks = true};
    try {
      check_gradient(c);
      EXPECT_EQ(plain_collisions(c, run_reverse(c)), 0) << "two threads update one element";
    } catch (const GradientError& e) {
      if (single) std::cout << e.what() << "\n";
      ++refused;
    }
  }
  // Everything in these kernels is differentiable and bounded.
  EXPECT_EQ(refused, 0u);
  std::cout << count << " kernels from seed " << first << " on: " << nested_in_place
            << " with data-dependent control flow in a loop and arrays changed in place, "
            << old_values << " with values of atomics\n";
  if (!single && count >= 100) {
    EXPECT_GE(10 * nested_in_place, 3 * count);
    EXPECT_GE(10 * old_values, 2 * count);
  }
}

}  // namespace
}  // namespace wt::test
