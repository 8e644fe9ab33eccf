// SPDX-License-Identifier: Apache-2.0
// shadow.h: carries, beside every array, the array that holds its adjoint or its tangent.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "csrc/codegen/ad/ad.h"
#include "csrc/codegen/ir/ir.h"

namespace wt::ad {

struct Shadows {
  /// Index of the new parameter of each primal parameter, or -1.
  std::vector<int> param;
  /// Array value, or struct that holds arrays -> its shadow. Missing: no derivative is carried.
  std::unordered_map<const ir::Value*, ir::Value*> of;

  ir::Value* find(const ir::Value* v) const {
    const auto it = of.find(v);
    return it == of.end() ? nullptr : it->second;
  }
};

/// Appends a parameter `<prefix><name>` for each masked parameter with float leaves: array -> same
/// type, struct with arrays -> same type, other T -> array<T,1> (`scalars_by_value`: T). Then
/// follows views, fields, selects, branches and loops, adding the same op on the shadow after each.
Shadows add_shadows(ir::Func& f, const Mask& mask, std::string_view prefix, bool scalars_by_value);

}  // namespace wt::ad
