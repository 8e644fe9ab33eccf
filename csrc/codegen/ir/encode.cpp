// SPDX-License-Identifier: Apache-2.0
// encode.cpp: numbers to and from the bytes of a scalar in memory.
#include "csrc/codegen/ir/encode.h"

#include <cmath>
#include <cstring>

#include "csrc/codegen/ir/scalar_value.h"

namespace wt::ir {
namespace {

/// Exponent and mantissa widths of the 16-bit formats.
struct Half {
  int exponent, mantissa;
};
constexpr Half kF16{5, 10}, kBF16{8, 7};

/// `v` is already rounded to the format.
uint16_t half_bits(double v, Half h) {
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  const int bias = (1 << (h.exponent - 1)) - 1;
  const auto inf = uint16_t(((1 << h.exponent) - 1) << h.mantissa);
  if (std::isnan(v)) return uint16_t(sign | inf | (1 << (h.mantissa - 1)));
  if (std::isinf(v)) return uint16_t(sign | inf);
  if (v == 0) return sign;
  int e = 0;
  std::frexp(v, &e);
  e -= 1;                      // |v| = m * 2^e with 1 <= m < 2
  const int least = 1 - bias;  // exponent of subnormals
  const int scale = e < least ? least : e;
  const auto m = uint32_t(std::ldexp(std::fabs(v), h.mantissa - scale));
  const uint32_t hidden = 1u << h.mantissa;
  return uint16_t(sign | (m >= hidden ? (uint32_t(scale + bias) << h.mantissa) + (m - hidden) : m));
}

double half_value(uint16_t bits, Half h) {
  const int bias = (1 << (h.exponent - 1)) - 1;
  const int e = (bits >> h.mantissa) & ((1 << h.exponent) - 1);
  const int m = bits & ((1 << h.mantissa) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (e == (1 << h.exponent) - 1) return m ? std::nan("") : sign * HUGE_VAL;
  if (e == 0) return sign * std::ldexp(m, 1 - bias - h.mantissa);
  return sign * std::ldexp(m + (1 << h.mantissa), e - bias - h.mantissa);
}

template <typename T>
void put(T v, char* to) {
  std::memcpy(to, &v, sizeof v);
}

template <typename T>
T take(const char* from) {
  T v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

}  // namespace

void encode_scalar(Scalar s, int64_t i, double f, char* to) {
  switch (s) {
    case Scalar::kF64:
      return put(f, to);
    case Scalar::kF32:
      return put(float(f), to);
    case Scalar::kF16:
      return put(half_bits(round_float(f, s), kF16), to);
    case Scalar::kBF16:
      return put(half_bits(round_float(f, s), kBF16), to);
    case Scalar::kBool:
      return put(char(i != 0), to);
    default:
      break;
  }
  // Little endian: the low bytes are the wrapped value.
  std::memcpy(to, &i, size_t(bits(s)) / 8);
}

double decode_scalar(Scalar s, const char* from) {
  switch (s) {
    case Scalar::kF64:
      return take<double>(from);
    case Scalar::kF32:
      return take<float>(from);
    case Scalar::kF16:
      return half_value(take<uint16_t>(from), kF16);
    case Scalar::kBF16:
      return half_value(take<uint16_t>(from), kBF16);
    case Scalar::kBool:
      return *from != 0;
    default:
      break;
  }
  int64_t v = 0;
  std::memcpy(&v, from, size_t(bits(s)) / 8);
  return int_to_float(wrap_int(v, s), s);
}

std::vector<char> encode_components(Type t, double value) {
  std::vector<char> out(size_of(t));
  const size_t step = size_t(bits(t->scalar)) / 8;
  for (size_t at = 0; at < out.size(); at += step)
    encode_scalar(t->scalar, int64_t(value), value, out.data() + at);
  return out;
}

}  // namespace wt::ir
