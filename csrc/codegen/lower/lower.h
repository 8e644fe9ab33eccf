// SPDX-License-Identifier: Apache-2.0
// lower.h: Source AST -> typed IR. The door to the folder; func_lowering.h is where to read on.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "csrc/codegen/ast/ast.h"
#include "csrc/codegen/ir/ir.h"

namespace wt {

/// The IR of the unit's function `entry` and of every function instance that it calls, with Python
/// variables as var/get/set. `generics` are the types of those parameters that hold Any, Float, Int
/// or Scalar, in order. Throws KernelError at the Python line.
std::unique_ptr<ir::Module> lower(const ast::Unit& unit, std::string_view entry,
                                  std::span<const ir::Type> generics = {});

}  // namespace wt
