// SPDX-License-Identifier: Apache-2.0
// shape_expr.h: reads shape expressions such as "x.shape[0] // 2 + 1".
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "csrc/autograd/op_plan.h"

namespace wt::autograd {

/// Integers, names of int parameters, `name.shape[k]`, + - * // and brackets. `param` maps a name
/// to its position and throws for an unknown one. Errors are ArgumentValueError starting with
/// `where`.
ShapeProgram parse_shape(std::string_view text, const std::string& where,
                         const std::function<int(const std::string&)>& param);

}  // namespace wt::autograd
