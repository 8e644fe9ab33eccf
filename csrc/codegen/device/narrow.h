// SPDX-License-Identifier: Apache-2.0
// narrow.h: float16 and bfloat16, held as float: rounding to nearest even, and conversion.
R"wt(
WT_FN float wt_odd_float(double x) {
  float f = float(x);
  double g = f;
  u32 u = wt_bits(f);
  u32 r = ((g > x) == (x > 0) ? u - 1 : u) | 1u;
  return g == x || x != x ? f : wt_float(r);
}
WT_FN float wt_round_f16(float x) {
  u32 u = wt_bits(x), a = u & 0x7fffffffu;
  u32 r = (a + 0xfffu + ((a >> 13) & 1u)) & ~0x1fffu;
  r = r >= 0x47800000u ? 0x7f800000u : r;
  r = a < 0x38800000u ? wt_bits((wt_float(a) + 0.5f) - 0.5f) : r;
  r = a >= 0x7f800000u ? a : r;
  return wt_float(r | (u & 0x80000000u));
}
WT_FN float wt_f16_to_float(u16 h) {
  u32 a = h & 0x7fffu;
  u32 r = a >= 0x7c00u ? (a << 13) + 0x70000000u : (a << 13) + 0x38000000u;
  r = a < 0x400u ? wt_bits(float(a) * 5.9604644775390625e-8f) : r;
  return wt_float(r | (u32(h & 0x8000u) << 16));
}
WT_FN u16 wt_f16_from_float(float x) {
  u32 u = wt_bits(wt_round_f16(x)), a = u & 0x7fffffffu;
  u32 r = a >= 0x7f800000u ? 0x7c00u | ((a >> 13) & 0x3ffu) | (a > 0x7f800000u ? 0x200u : 0u)
                           : (a - 0x38000000u) >> 13;
  r = a < 0x38800000u ? u32(wt_float(a) * 16777216.0f) : r;
  return u16(r | ((u >> 16) & 0x8000u));
}
WT_FN float wt_round_bf16(float x) {
  u32 u = wt_bits(x);
  u32 r = (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
  return wt_float((u & 0x7fffffffu) > 0x7f800000u ? u : r);
}
WT_FN float wt_bf16_to_float(u16 h) { return wt_float(u32(h) << 16); }
WT_FN u16 wt_bf16_from_float(float x) {
  u32 u = wt_bits(wt_round_bf16(x));
  return u16((u >> 16) | ((u & 0x7fffffffu) > 0x7f800000u ? 0x40u : 0u));
}
)wt"
