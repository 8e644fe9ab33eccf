// SPDX-License-Identifier: Apache-2.0
// sampling.h: sines, cosines and roots with the same bits on every device, and Poisson numbers:
// by products of uniform numbers for small means, else by transformed rejection (Hörmann 1993).
R"wt(
WT_FN float wt_sin_turn(float u) { return wt_cos_turn(u < 0.25f ? u + 0.75f : u - 0.25f); }
WT_FN float wt_cbrt_unit(float u) {
  if (!(u > 0.0f)) return 0.0f;
  float y = wt_float(wt_bits(u) / 3u + 709921077u);
  for (i32 k = 0; k < 4; ++k) y -= (y * y * y - u) / (3.0f * y * y);
  return y;
}
WT_FN float wt_sqrt_unit(float u) { return WT_MATH(sqrt, u); }
WT_FN float wt_cosine_side(float z) {
  const float s = 1.0f - z * z;
  return s > 0.0f ? WT_MATH(sqrt, s) : 0.0f;
}
WT_FN float wt_exp_minus(float x) {
  float n = x * 1.44269504f;
  const i32 k = i32(n + 0.5f);
  const float r = float(k) * 0.693147182f - x;
  float p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666667f + r * (0.0416666667f + r * 0.00833333333f))));
  for (i32 i = 0; i < k && p > 0.0f; ++i) p *= 0.5f;
  return p;
}
WT_FN float wt_log_factorial(float k) {
  float shift = 0.0f, x = k + 1.0f;
  for (; x < 8.0f; x += 1.0f) shift += wt_log_unit(x);
  const float i = 1.0f / x;
  return (x - 0.5f) * wt_log_unit(x) - x + 0.918938533f +
         i * (0.0833333333f - i * i * (0.00277777778f - i * i * 0.000793650794f)) - shift;
}
WT_LARGE u32 wt_poisson(u32* state, float mean) {
  u32 s = *state;
  if (!(mean > 0.0f)) return 0u;
  if (mean < 10.0f) {
    const float limit = wt_exp_minus(mean);
    u32 k = 0u;
    float p = 1.0f;
    for (;;) {
      s = wt_pcg(s);
      p *= wt_unit(s);
      if (p <= limit) break;
      ++k;
    }
    *state = s;
    return k;
  }
  const float b = 0.931f + 2.53f * wt_sqrt_unit(mean), a = -0.059f + 0.02483f * b;
  const float log_mean = wt_log_unit(mean), inverse = 1.1239f + 1.1328f / (b - 3.4f);
  const float edge = 0.9277f - 3.6224f / (b - 2.0f);
  for (;;) {
    s = wt_pcg(s);
    const float u = wt_unit(s) - 0.5f;
    s = wt_pcg(s);
    const float v = wt_unit(s), side = 0.5f - (u < 0.0f ? -u : u);
    if (side <= 0.0f) continue;
    const float y = (2.0f * a / side + b) * u + mean + 0.43f;
    if (y < 0.0f) continue;
    const float k = float(u32(y));
    if ((side >= 0.07f && v <= edge) ||
        ((side >= 0.013f || v <= side) && v > 0.0f &&
         wt_log_unit(v * inverse / (a / (side * side) + b)) <= k * log_mean - mean - wt_log_factorial(k))) {
      *state = s;
      return u32(k);
    }
  }
}
)wt"
