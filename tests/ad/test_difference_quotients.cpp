// SPDX-License-Identifier: Apache-2.0
// test_difference_quotients.cpp: what random kernels have at hand where one width does not do.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ad/difference_quotients.h"

namespace wt::test {
namespace {

TEST(DifferenceQuotients, SmoothFunctionsHaveOne) {
  const auto found = difference_quotients([](double h) { return std::exp(2 * h); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].value, 2, 1e-9);
}

TEST(DifferenceQuotients, SteepCurvesNeedSmallWidths) {
  const auto found = difference_quotients([](double h) { return std::sin(1e8 * h + 1); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].value / (1e8 * std::cos(1.0)), 1, 1e-4);
}

TEST(DifferenceQuotients, AKinkHasTwo) {
  const auto found = difference_quotients([](double h) { return h < 0 ? -h : 3 * h; });
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0].value, -1, 1e-9);
  EXPECT_NEAR(found[1].value, 3, 1e-9);
}

TEST(DifferenceQuotients, AJumpNearbyLeavesTheOtherSide) {
  const auto found = difference_quotients([](double h) { return h > 5e-14 ? 7.0 : 2 * h; });
  ASSERT_FALSE(found.empty());
  EXPECT_NEAR(found[0].value, 2, 1e-5);
}

TEST(DifferenceQuotients, ChaosHasNone) {
  EXPECT_TRUE(difference_quotients([](double h) { return std::sin(1e30 * h + 1); }).empty());
}

}  // namespace
}  // namespace wt::test
