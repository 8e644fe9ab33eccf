// SPDX-License-Identifier: Apache-2.0
// random.h: the PCG hash (Jarzynski and Olano 2020), and Box-Muller with polynomials of our own, so
// that every device gives the same bits.
R"wt(
WT_FN u32 wt_pcg(u32 x) {
  u32 s = x * 747796405u + 2891336453u;
  u32 w = ((s >> ((s >> 28) + 4u)) ^ s) * 277803737u;
  return (w >> 22) ^ w;
}
WT_FN float wt_unit(u32 x) { return float(x >> 8) * 5.9604644775390625e-8f; }
WT_FN u32 wt_in_range(u32 x, u32 low, u32 high) { return high == low ? low : x % (high - low) + low; }
WT_FN float wt_log_unit(float x) {
  u32 u = wt_bits(x) + 0x004afb0du;
  float e = float(i32(u >> 23) - 127);
  float f = wt_float((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  float p = 0.07149754f;
  p = p * f - 0.11571201f;
  p = p * f + 0.116615117f;
  p = p * f - 0.124110505f;
  p = p * f + 0.142499357f;
  p = p * f - 0.166684806f;
  p = p * f + 0.200007081f;
  p = p * f - 0.249999896f;
  p = p * f + 0.333333313f;
  float z = f * f;
  return (e * 0.693359375f + f) + (p * f * z - 0.5f * z - e * 2.12194440e-4f);
}
WT_FN float wt_cos_turn(float u) {
  float q = u * 4.0f;
  i32 k = i32(q + 0.5f);
  float t = (q - float(k)) * 1.57079633f, z = t * t;
  float s = t + t * z * (((2.7246963e-6f * z - 1.98400638e-4f) * z + 8.33333191e-3f) * z - 0.166666672f);
  float c = 1.0f - 0.5f * z +
            z * z * (((-2.67064138e-7f * z + 2.47941243e-5f) * z - 1.38888671e-3f) * z + 4.16666679e-2f);
  float r = (k & 1) ? s : c;
  return ((k + 1) & 2) ? -r : r;
}
WT_FN float wt_normal(float u, float v) {
  float r = -2.0f * wt_log_unit(u > 0.0f ? u : 1e-15f);
  return WT_MATH(sqrt, r) * wt_cos_turn(v);
}
)wt"
