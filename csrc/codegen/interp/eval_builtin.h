// SPDX-License-Identifier: Apache-2.0
// eval_builtin.h: values of builtins, from tables of functions by name.
#pragma once

#include <span>
#include <string_view>

#include "csrc/codegen/interp/cells.h"

namespace wt::interp {

struct Operand {
  ir::Type type;
  const Cell* cells;
};

/// Writes result k to out[k]. False if the tables do not cover that builtin on these types.
/// Arithmetic is that of the type: float in float, f16 and bf16 in float then rounded, integers
/// wrap.
bool eval_builtin(std::string_view name, std::span<const Operand> in,
                  std::span<const ir::Type> results, Cell* const* out);
/// Builtins on vectors, matrices and quaternions that are not component by component.
bool eval_linear(std::string_view name, std::span<const Operand> in,
                 std::span<const ir::Type> results, Cell* const* out);
/// True if every target gives these very bits, so that a pass may evaluate it: operators and
/// functions that are rounded once, not sin or exp.
bool exact_builtin(std::string_view name, ir::Type operand);

}  // namespace wt::interp
