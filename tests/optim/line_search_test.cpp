// SPDX-License-Identifier: Apache-2.0
// line_search_test.cpp: the strong Wolfe search on functions of one variable.
#include "optim/line_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>

namespace wt::optim {
namespace {

using ::testing::HasSubstr;
using Curve = std::function<std::pair<double, double>(double)>;  // value and slope

class FakeLine : public LineFunction {
 public:
  explicit FakeLine(Curve curve) : curve_(std::move(curve)) {}
  bool evaluate(double step, double* value, double* slope) override {
    ++calls;
    std::tie(*value, *slope) = curve_(step);
    return std::isfinite(*value) && std::isfinite(*slope);
  }
  LinePoint start() {
    const auto [value, slope] = curve_(0);
    return {.value = value, .slope = slope};
  }
  int calls = 0;

 private:
  Curve curve_;
};

void expect_wolfe(FakeLine* line, double first_step, const LineSearchOptions& options) {
  const LinePoint start = line->start();
  const LineSearchResult result = strong_wolfe_search(line, start, first_step, options);
  ASSERT_EQ(result.status, LineSearchStatus::kWolfe) << result.message;
  EXPECT_LE(result.point.value,
            start.value + options.sufficient_decrease * result.point.step * start.slope);
  EXPECT_LE(std::abs(result.point.slope), -options.curvature * start.slope);
  EXPECT_EQ(result.evaluations, line->calls);
}

TEST(CubicMinimizer, IsExactForACubic) {
  // phi = a^3 - 3a has its minimum at 1.
  const auto point = [](double a) {
    return LinePoint{.step = a, .value = a * a * a - 3 * a, .slope = 3 * a * a - 3};
  };
  EXPECT_NEAR(cubic_minimizer(point(0), point(3)), 1.0, 1e-14);
  EXPECT_NEAR(cubic_minimizer(point(3), point(0.5)), 1.0, 1e-14);
}

TEST(CubicMinimizer, HasNoneOnAMonotoneCubic) {
  const auto point = [](double a) {
    return LinePoint{.step = a, .value = a * a * a + a, .slope = 3 * a * a + 1};
  };
  EXPECT_TRUE(std::isnan(cubic_minimizer(point(-1), point(1))));
}

TEST(StrongWolfe, TakesTheFirstStepWhenItQualifies) {
  FakeLine line([](double a) { return std::pair((a - 1) * (a - 1), 2 * (a - 1)); });
  const LineSearchResult result = strong_wolfe_search(&line, line.start(), 1.0, {});
  EXPECT_EQ(result.status, LineSearchStatus::kWolfe);
  EXPECT_EQ(result.point.step, 1.0);
  EXPECT_EQ(result.evaluations, 1);
}

// The three convex and oscillating functions of section 5 of J. J. More, D. J. Thuente, Line
// search algorithms with guaranteed sufficient decrease, ACM TOMS 20 (1994), over their range of
// first steps, with their conditions.
TEST(StrongWolfe, MoreThuenteFunctions) {
  const Curve one = [](double a) {
    const double d = a * a + 2;
    return std::pair(-a / d, (a * a - 2) / (d * d));
  };
  const Curve two = [](double a) {
    const double b = 0.004;
    return std::pair(std::pow(a + b, 5) - 2 * std::pow(a + b, 4),
                     5 * std::pow(a + b, 4) - 8 * std::pow(a + b, 3));
  };
  const Curve four = [](double a) {  // Yanai, Ozawa, Kaneko, both betas 0.001
    const double b = 0.001;
    const double g = std::sqrt(1 + b * b) - b;
    const double p = std::sqrt((1 - a) * (1 - a) + b * b);
    const double q = std::sqrt(a * a + b * b);
    return std::pair(g * p + g * q, g * (a - 1) / p + g * a / q);
  };
  struct Case {
    Curve curve;
    double decrease;
    double curvature;
  };
  for (const Case& c :
       {Case{one, 0.001, 0.1}, Case{two, 0.1, 0.1 + 1e-9}, Case{four, 0.001, 0.002}}) {
    for (double first : {1e-3, 1e-1, 1e1, 1e3}) {
      SCOPED_TRACE(::testing::Message() << "decrease " << c.decrease << " first step " << first);
      FakeLine line(c.curve);
      LineSearchOptions options{.sufficient_decrease = c.decrease, .curvature = c.curvature};
      options.max_line_search_evaluations = 40;
      expect_wolfe(&line, first, options);
    }
  }
}

TEST(StrongWolfe, RandomQuarticsSatisfyBothConditions) {
  const unsigned seed = 20240;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < 500; ++i) {
    const double c4 = std::exp(3 * unit(random));
    const double c3 = 4 * unit(random);
    const double c2 = 4 * unit(random);
    const double c1 = -std::exp(3 * unit(random));
    SCOPED_TRACE(::testing::Message() << "seed " << seed << " case " << i);
    FakeLine line([=](double a) {
      return std::pair((((c4 * a + c3) * a + c2) * a + c1) * a,
                       ((4 * c4 * a + 3 * c3) * a + 2 * c2) * a + c1);
    });
    LineSearchOptions options{.curvature = 0.05};
    options.max_line_search_evaluations = 60;
    expect_wolfe(&line, std::exp(5 * unit(random)), options);
  }
}

TEST(StrongWolfe, RetreatsFromUndefinedPoints) {
  // -log(1 - a) - 2a is defined for a < 1 only; its minimum is at 1/2.
  FakeLine line([](double a) {
    return std::pair(a < 1 ? -std::log(1 - a) - 2 * a : std::nan(""), 1 / (1 - a) - 2);
  });
  expect_wolfe(&line, 1e3, {.curvature = 0.1});
}

TEST(StrongWolfe, RefusesAnAscentDirectionWithoutEvaluating) {
  FakeLine line([](double a) { return std::pair(a, 1.0); });
  const LineSearchResult result = strong_wolfe_search(&line, line.start(), 1.0, {});
  EXPECT_EQ(result.status, LineSearchStatus::kFailed);
  EXPECT_EQ(line.calls, 0);
  EXPECT_THAT(result.message, HasSubstr("does not descend"));
}

TEST(StrongWolfe, FailsOnALyingSlope) {
  FakeLine line([](double a) { return std::pair(a, a == 0 ? -1.0 : 1.0); });
  const LineSearchResult result = strong_wolfe_search(&line, line.start(), 1.0, {});
  EXPECT_EQ(result.status, LineSearchStatus::kFailed);
  EXPECT_LE(result.evaluations, LineSearchOptions{}.max_line_search_evaluations);
}

TEST(StrongWolfe, UnboundedBelowStopsAtTheLargestStep) {
  FakeLine line([](double a) { return std::pair(-a, -1.0); });
  const LineSearchResult result = strong_wolfe_search(&line, line.start(), 1.0, {.max_step = 50});
  EXPECT_EQ(result.status, LineSearchStatus::kDecrease);
  EXPECT_EQ(result.point.step, 50.0);
}

TEST(StrongWolfe, KeepsTheBestPointWhenEvaluationsRunOut) {
  FakeLine line([](double a) { return std::pair(-a, -1.0); });
  const LineSearchResult result =
      strong_wolfe_search(&line, line.start(), 1.0, {.max_line_search_evaluations = 3});
  EXPECT_EQ(result.status, LineSearchStatus::kDecrease);
  EXPECT_EQ(result.evaluations, 3);
  EXPECT_GT(result.point.step, 0);
  EXPECT_EQ(result.point.value, -result.point.step);
}

TEST(StrongWolfe, SlopeDecidesBelowTheNoise) {
  // 1e8 + (a - 1)^2 / 1e9, rounded to units of 1: the values no longer show the decrease.
  FakeLine line([](double a) {
    return std::pair(std::round(1e8 + (a - 1) * (a - 1) / 1e9), 2 * (a - 1) / 1e9);
  });
  LineSearchOptions options{.curvature = 0.5, .function_noise = 1e-8};
  const LineSearchResult result = strong_wolfe_search(&line, line.start(), 0.01, options);
  EXPECT_EQ(result.status, LineSearchStatus::kWolfe);
  EXPECT_NEAR(result.point.step, 1.0, 0.5);
}

}  // namespace
}  // namespace wt::optim
