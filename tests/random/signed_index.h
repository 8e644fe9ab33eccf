// SPDX-License-Identifier: Apache-2.0
// signed_index.h: indexes that may count from the end, the way lowering writes them.
#pragma once

#include <functional>

#include "csrc/codegen/ir/builder.h"

namespace wt::test {

/// select(i < 0, i + 8, i) & 7 of a small i, which is positive in some programs and not in others;
/// now and then where i was compared with a constant. `natural` makes numbers from 0 to 7.
ir::Value* signed_index(ir::Builder& b, const std::function<ir::Value*()>& natural,
                        const std::function<int(int)>& pick);

}  // namespace wt::test
