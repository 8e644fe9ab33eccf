// SPDX-License-Identifier: Apache-2.0
// difference_quotients.h: derivatives of a function of one number by differences of many widths.
#pragma once

#include <functional>
#include <vector>

namespace wt::test {

/// A derivative that differences of neighbouring widths agree on, and how far they are apart.
struct Quotient {
  double value;
  double spread;
};

/// The derivatives that `f` may have at 0, found without a look at any other answer: one; two where
/// it has a kink, from the left and from the right; none where no widths agree.
std::vector<Quotient> difference_quotients(const std::function<double(double)>& f);

}  // namespace wt::test
