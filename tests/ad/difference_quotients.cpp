// SPDX-License-Identifier: Apache-2.0
// difference_quotients.cpp: looks for widths whose difference quotients agree.
#include "tests/ad/difference_quotients.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wt::test {
namespace {

constexpr double kWorstSpread = 1e-3;  ///< relative; beyond it widths do not agree

struct Sample {
  double width;
  double at[5];  ///< f at -2, -1, 0, 1, 2 widths
};

double left(const Sample& s) { return (3 * s.at[2] - 4 * s.at[1] + s.at[0]) / (2 * s.width); }
double right(const Sample& s) { return (-3 * s.at[2] + 4 * s.at[3] - s.at[4]) / (2 * s.width); }
double central(const Sample& s) {
  return (8 * (s.at[3] - s.at[1]) - (s.at[4] - s.at[0])) / (12 * s.width);
}

double size_of(const Quotient& q) { return std::max(1e-3, std::abs(q.value)); }

/// The quotient of the three neighbouring widths that are nearest to each other. Widths too small
/// for the digits of f agree by chance, for example on 0, so that rounding counts as spread.
Quotient agreed(const std::vector<Sample>& samples, double (*quotient)(const Sample&)) {
  Quotient best = {0, std::numeric_limits<double>::infinity()};
  for (size_t i = 1; i + 1 < samples.size(); ++i) {
    const double q[] = {quotient(samples[i - 1]), quotient(samples[i]), quotient(samples[i + 1])};
    const double rounding = 16 * std::numeric_limits<double>::epsilon() *
                            (1 + std::abs(samples[i].at[2])) / samples[i].width;
    const auto [low, high] = std::minmax({q[0], q[1], q[2]});
    const Quotient found = {q[1], std::max(high - low, rounding)};
    if (found.spread * size_of(best) < best.spread * size_of(found)) best = found;
  }
  return best;
}

bool holds(const Quotient& q) { return q.spread <= kWorstSpread * size_of(q); }

}  // namespace

std::vector<Quotient> difference_quotients(const std::function<double(double)>& f) {
  std::vector<Sample> samples;
  const double here = f(0);
  for (double h = 1e-4; h > 0.9e-13; h /= std::sqrt(10.0)) {
    samples.push_back({h, {f(-2 * h), f(-h), here, f(h), f(2 * h)}});
  }
  const Quotient c = agreed(samples, central), l = agreed(samples, left),
                 r = agreed(samples, right);
  const double apart = std::abs(l.value - r.value);
  const double noise = std::max({l.spread, r.spread, 2e-6 * size_of(l), 2e-6 * size_of(r)});
  if (holds(l) && holds(r) && apart > 10 * noise) return {l, r};
  if (holds(c)) return {c};
  // A jump on the other side, nearer than any width.
  if (holds(l)) return {l};
  if (holds(r)) return {r};
  return {};
}

}  // namespace wt::test
