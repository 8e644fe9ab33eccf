// SPDX-License-Identifier: Apache-2.0
// case_arguments.cpp: the arguments of a gradient test's case.
#include <functional>
#include <numeric>
#include <random>

#include "tests/ad/gradient_check.h"

namespace wt::test {

Arg scalar(double v) { return {.values = {v}, .integers = {}, .shape = {}, .fields = {}}; }
Arg vector(std::vector<double> v) {
  return {.values = std::move(v), .integers = {}, .shape = {}, .fields = {}};
}
Arg integer(int64_t v) { return {.values = {}, .integers = {v}, .shape = {}, .fields = {}}; }
Arg array_of(std::vector<int64_t> shape, std::vector<double> values) {
  return {.values = std::move(values), .integers = {}, .shape = std::move(shape), .fields = {}};
}
Arg array(std::vector<int64_t> shape, int leaves, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed) + 1);
  const auto count =
      std::accumulate(shape.begin(), shape.end(), int64_t{leaves}, std::multiplies<int64_t>());
  std::vector<double> values(static_cast<size_t>(count));
  for (double& v : values) v = std::uniform_real_distribution<double>(0.3, 1.7)(random);
  return array_of(std::move(shape), std::move(values));
}
Arg integers(std::vector<int64_t> values) {
  const auto n = static_cast<int64_t>(values.size());
  return {.values = {}, .integers = std::move(values), .shape = {n}, .fields = {}};
}
Arg fields(std::vector<Arg> fields) {
  return {.values = {}, .integers = {}, .shape = {}, .fields = std::move(fields)};
}

}  // namespace wt::test
