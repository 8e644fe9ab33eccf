// SPDX-License-Identifier: Apache-2.0
// test_coverage.cpp: what the 300 random kernels and 300 random programs of the other tests reach.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/random/coverage.h"
#include "tests/random/kernel_case.h"
#include "tests/random/random_program.h"

namespace wt::test {
namespace {

TEST(Coverage, EveryCoreOpAndEveryRowIsReached) {
  Coverage coverage;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    coverage.add(*ir::parse(random_kernel(seed)));
    coverage.add(*ir::random_program(seed));
  }
  std::cout << coverage.ops() << " core ops, " << coverage.rows() << " builtin rows\n";
  for (const std::string_view op : coverage.missing_ops()) ADD_FAILURE() << "nothing has " << op;
  for (const std::string& row : coverage.missing_rows()) ADD_FAILURE() << "nothing calls " << row;
}

}  // namespace
}  // namespace wt::test
