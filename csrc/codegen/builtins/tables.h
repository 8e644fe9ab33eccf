// SPDX-License-Identifier: Apache-2.0
// tables.h: the tables of rows, one per file of this folder; registry.cpp lists them.
#pragma once

#include <span>

#include "csrc/codegen/builtins/builtin_def.h"

namespace wt::builtins {

std::span<const BuiltinDef> operator_rows();
std::span<const BuiltinDef> scalar_rows();

}  // namespace wt::builtins
