// SPDX-License-Identifier: Apache-2.0
// encode.h: numbers to and from the bytes of a scalar in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "csrc/codegen/ir/type.h"
#include "csrc/codegen/support/api.h"

namespace wt::ir {

/// Writes `i` (integers, bool) or `f` (floats, rounded to nearest even) as `s` at `to`.
WT_API void encode_scalar(Scalar s, int64_t i, double f, char* to);
/// Reads them back: the value as double, integers exactly up to 2^53.
double decode_scalar(Scalar s, const char* from);
/// Bytes of a numeric type whose every component is `value`.
std::vector<char> encode_components(Type t, double value);

}  // namespace wt::ir
