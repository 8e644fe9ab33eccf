// SPDX-License-Identifier: Apache-2.0
// kernel_case.h: random kernels with arguments, ready to be checked.
#pragma once

#include "tests/ad/gradient_check.h"
#include "tests/random/random_kernel.h"

namespace wt::test {

inline Case random_case(unsigned seed) {
  Case c = {.text = random_kernel(seed),
            .args = {array({5}), array({3}, 1, 1), array({3, 4}, 1, 2), array({1}), scalar(0.7),
                     vector({0.4, -0.3, 1.1}), integer(3), integers({0, 2, 1}), array({3}, 3, 3),
                     array_of({2}, {-1.0, 0.1}), array({3}, 4, 4),
                     fields({array({3}, 1, 5), integer(5)})},
            .dim = {3},
            .slots = {1, 2, 64},
            .tolerance = 2e-6,
            .kinks = true};
  // Only reverse mode knows which value has won, and gradients that a function's author wrote.
  const auto has = [&](const char* what) { return c.text.find(what) != std::string::npos; };
  c.tangent = !has("atomic(%top") && !has("attach(");
  return c;
}

}  // namespace wt::test
