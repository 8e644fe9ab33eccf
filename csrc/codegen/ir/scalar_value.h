// SPDX-License-Identifier: Apache-2.0
// scalar_value.h: rounding and wrapping of numbers to a scalar type, as the targets do it.
#pragma once

#include <cstdint>

#include "csrc/codegen/ir/type.h"
#include "csrc/codegen/support/api.h"

namespace wt::ir {

/// The low bits of `v` as a value of that integer type (bool: v != 0). u64 keeps its bit pattern.
WT_API int64_t wrap_int(int64_t v, Scalar s);
/// `v` rounded to nearest even in that float type.
double round_float(double v, Scalar s);
/// Conversion of a float to an integer type: truncates; out of range saturates, NaN gives 0.
int64_t float_to_int(double v, Scalar s);
/// Value of an integer of type `s` as double (u64 read as unsigned).
double int_to_float(int64_t v, Scalar s);

/// Stored form of f16 and bf16. `v` is rounded to nearest even.
uint16_t float_to_bits16(double v, Scalar s);
double float_from_bits16(uint16_t bits, Scalar s);

}  // namespace wt::ir
