// SPDX-License-Identifier: Apache-2.0
// tables.h: the tables of rows, one per file of this folder; registry.cpp lists them.
#pragma once

#include <span>
#include <vector>

#include "csrc/codegen/builtins/builtin_def.h"

namespace wt::builtins {

/// All of them, in the order of the documentation.
std::vector<std::span<const BuiltinDef>> tables();

std::span<const BuiltinDef> operator_rows();
std::span<const BuiltinDef> scalar_rows();
std::span<const BuiltinDef> special_rows();
std::span<const BuiltinDef> vector_rows();
std::span<const BuiltinDef> matrix_rows();
std::span<const BuiltinDef> linear_rows();
std::span<const BuiltinDef> quat_rows();
std::span<const BuiltinDef> rotation_rows();
std::span<const BuiltinDef> motion_rows();
std::span<const BuiltinDef> transform_rows();
std::span<const BuiltinDef> complex_rows();
std::span<const BuiltinDef> random_rows();
std::span<const BuiltinDef> sampling_rows();
std::span<const BuiltinDef> noise_rows();
std::span<const BuiltinDef> search_rows();

}  // namespace wt::builtins
