// SPDX-License-Identifier: Apache-2.0
// prepared.h: a launch together with the derivative forms that its arguments call for.
#pragma once

#include <memory>

#include "csrc/autograd/call.h"
#include "csrc/codegen/support/api.h"

namespace wt::autograd {

class LaunchImage;

struct Prepared {
  Call call;
  ad::Mask mask;
  const AdjointForm* form = nullptr;
  bool atomic = false;                       ///< that form is AdjointMode::kAtomic
  rt::Array log;                             ///< value logs of the augmented forward
  std::shared_ptr<const LaunchImage> image;  ///< only with gradient checks
  RowLayout log_rows;
};

/// Which parameters carry gradients: arrays that require one, and arrays written over memory that
/// has one.
WT_API ad::Mask gradient_mask(const Call& call);
/// Chooses the forms that are right for how the arguments lie in memory: equal views that are
/// written become one parameter, so that the derivative sees the truth; other overlaps of a written
/// array are refused, as is a kernel with no derivative (GradientError). `atomic` asks for
/// AdjointMode::kAtomic, for gradients that lie otherwise than their arrays.
WT_API Prepared prepare(Call call, ad::Mask mask, bool atomic = false);
/// Runs the forward, with its value logs.
WT_API void run_logged(Prepared& p);

WT_API bool same_view(const rt::Array& a, const rt::Array& b);

}  // namespace wt::autograd
