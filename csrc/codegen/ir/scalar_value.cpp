// SPDX-License-Identifier: Apache-2.0
// scalar_value.cpp: rounding and wrapping of numbers to a scalar type.
#include "csrc/codegen/ir/scalar_value.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wt::ir {
namespace {

/// Rounds to `mantissa` bits (the hidden one included) with least normal exponent `min_exp` and
/// largest finite value `max`. frexp's exponent of 1.0 is 1.
double round_narrow(double v, int mantissa, int min_exp, double max) {
  if (v == 0 || !std::isfinite(v)) return v;
  int e = 0;
  std::frexp(v, &e);
  const int lsb = std::max(e - mantissa, min_exp - mantissa + 1);
  // The scaled value has at most 53 significant bits and nearbyint rounds ties to even.
  const double r = std::ldexp(std::nearbyint(std::ldexp(v, -lsb)), lsb);
  if (std::abs(r) > max) return std::copysign(std::numeric_limits<double>::infinity(), v);
  return r;
}

}  // namespace

int64_t wrap_int(int64_t v, Scalar s) {
  switch (s) {
    case Scalar::kBool:
      return v != 0;
    case Scalar::kI8:
      return static_cast<int8_t>(v);
    case Scalar::kU8:
      return static_cast<uint8_t>(v);
    case Scalar::kI16:
      return static_cast<int16_t>(v);
    case Scalar::kU16:
      return static_cast<uint16_t>(v);
    case Scalar::kI32:
      return static_cast<int32_t>(v);
    case Scalar::kU32:
      return static_cast<uint32_t>(v);
    default:
      return v;
  }
}

double round_float(double v, Scalar s) {
  switch (s) {
    case Scalar::kF16:
      return round_narrow(v, 11, -14, 65504.0);
    case Scalar::kBF16:
      return round_narrow(v, 8, -126, std::ldexp(255.0, 120));
    case Scalar::kF32:
      return static_cast<float>(v);
    default:
      return v;
  }
}

int64_t float_to_int(double v, Scalar s) {
  if (s == Scalar::kBool) return v != 0;
  if (std::isnan(v)) return 0;
  const double t = std::trunc(v);
  const int n = bits(s);
  if (is_unsigned_int(s)) {
    if (t <= 0) return 0;
    if (t >= std::ldexp(1.0, n)) return wrap_int(-1, s);
    return static_cast<int64_t>(static_cast<uint64_t>(t));
  }
  const double edge = std::ldexp(1.0, n - 1);
  if (t >= edge) return static_cast<int64_t>((uint64_t{1} << (n - 1)) - 1);
  if (t <= -edge) return std::numeric_limits<int64_t>::min() >> (64 - n);
  return static_cast<int64_t>(t);
}

double int_to_float(int64_t v, Scalar s) {
  return s == Scalar::kU64 ? static_cast<double>(static_cast<uint64_t>(v)) : static_cast<double>(v);
}

uint16_t float_to_bits16(double v, Scalar s) {
  const int mantissa = s == Scalar::kF16 ? 10 : 7;
  const int bias = s == Scalar::kF16 ? 15 : 127;
  const int top = 2 * bias + 1;
  const unsigned sign = std::signbit(v) ? 0x8000u : 0u;
  const double r = std::abs(round_float(v, s));
  const unsigned infinity = static_cast<unsigned>(top) << mantissa;
  if (std::isnan(r)) return static_cast<uint16_t>(sign | infinity | 1u << (mantissa - 1));
  if (std::isinf(r)) return static_cast<uint16_t>(sign | infinity);
  if (r == 0) return static_cast<uint16_t>(sign);
  int e = 0;
  std::frexp(r, &e);
  const int field = std::max(e - 1 + bias, 0);  // 0 for subnormal numbers.
  const int lsb = std::max(field, 1) - bias - mantissa;
  const auto scaled = static_cast<unsigned>(std::ldexp(r, -lsb));
  // A normal number's scaled value has the hidden bit set; adding it to field - 1 clears it again.
  const unsigned high = static_cast<unsigned>(std::max(field - 1, 0)) << mantissa;
  return static_cast<uint16_t>(sign | (field == 0 ? scaled : high + scaled));
}

double float_from_bits16(uint16_t bits, Scalar s) {
  const int mantissa = s == Scalar::kF16 ? 10 : 7;
  const int bias = s == Scalar::kF16 ? 15 : 127;
  const int field = (bits & 0x7fff) >> mantissa;
  const int low = bits & ((1 << mantissa) - 1);
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (field == 2 * bias + 1) {
    return low ? std::numeric_limits<double>::quiet_NaN()
               : sign * std::numeric_limits<double>::infinity();
  }
  const int whole = field == 0 ? low : low + (1 << mantissa);
  return sign * std::ldexp(whole, std::max(field, 1) - bias - mantissa);
}

}  // namespace wt::ir
