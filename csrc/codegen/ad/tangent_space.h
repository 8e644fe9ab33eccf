// SPDX-License-Identifier: Apache-2.0
// tangent_space.h: arithmetic of adjoints and tangents: zero, sum, component updates. A null value
// means zero, so what is known to vanish costs nothing.
#pragma once

#include <span>

#include "csrc/codegen/ir/builder.h"

namespace wt::ad {

/// a + b over the float leaves; either may be null (zero). Integer leaves and arrays are those of
/// the first that is not null.
ir::Value* add(ir::Builder& b, ir::Value* x, ir::Value* y);
ir::Value* negate(ir::Builder& b, ir::Value* x);
/// x, or zero of the type if null.
ir::Value* materialize(ir::Builder& b, ir::Value* x, ir::Type type);
/// `sum` (null = zero) with `x` added to its component at `idx`.
ir::Value* add_component(ir::Builder& b, ir::Value* sum, ir::Type type, ir::Value* x,
                         std::span<ir::Value* const> idx);
/// `sum` (null = zero) with `x` added to its field.
ir::Value* add_field(ir::Builder& b, ir::Value* sum, ir::Type type, ir::Value* x,
                     std::string_view name);
/// c ? x : y where null is zero; null if both are.
ir::Value* select(ir::Builder& b, ir::Value* c, ir::Value* x, ir::Value* y);
/// Every float leaf NaN, or 1.
ir::Value* nan(ir::Builder& b, ir::Type type);
ir::Value* ones(ir::Builder& b, ir::Type type);

}  // namespace wt::ad
