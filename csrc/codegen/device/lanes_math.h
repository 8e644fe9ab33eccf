// SPDX-License-Identifier: Apache-2.0
// lanes_math.h: sine and cosine of vectors of threads. The argument is taken modulo a quarter turn
// in double precision, exact up to 2^20 quarters; beyond that thread by thread.
R"wt(
enum { wt_half = WT_BYTES / 8 };
typedef float wt_f32half __attribute__((vector_size(WT_BYTES / 2)));
typedef int wt_i32half __attribute__((vector_size(WT_BYTES / 2)));
WT_FN bool wt_f32any(wt_f32m m) {
  long long part[WT_BYTES / 8], any = 0;
  __builtin_memcpy(part, &m, WT_BYTES);
  for (int i = 0; i < WT_BYTES / 8; ++i) any |= part[i];
  return any != 0;
}
WT_FN void wt_quarters(const float* x, float* rest, int* quarters) {
  wt_f32half a;
  __builtin_memcpy(&a, x, WT_BYTES / 2);
  const wt_f64v d = __builtin_convertvector(a, wt_f64v);
  const wt_f64v n = (d * 0.6366197723675814 + 6755399441055744.0) - 6755399441055744.0;
  const wt_f32half r = __builtin_convertvector(
      (d - n * 1.57079632673412561417e+00) - n * 6.07710050650619224932e-11, wt_f32half);
  const wt_i32half q = __builtin_convertvector(n, wt_i32half);
  __builtin_memcpy(rest, &r, WT_BYTES / 2);
  __builtin_memcpy(quarters, &q, WT_BYTES / 2);
}
struct wt_f32turn {
  wt_f32v sin, cos;  // of the rest
  wt_f32m quarters;
};
WT_FN wt_f32turn wt_f32turned(wt_f32v x) {
  float in[2 * wt_half], rest[2 * wt_half];
  int quarters[2 * wt_half];
  __builtin_memcpy(in, &x, WT_BYTES);
  wt_quarters(in, rest, quarters);
  wt_quarters(in + wt_half, rest + wt_half, quarters + wt_half);
  wt_f32turn t;
  wt_f32v r;
  __builtin_memcpy(&r, rest, WT_BYTES);
  __builtin_memcpy(&t.quarters, quarters, WT_BYTES);
  const wt_f32v z = r * r;
  t.sin = r + r * z * (-1.6666654611e-1f + z * (8.3321608736e-3f + z * -1.9515295891e-4f));
  t.cos = (1.0f - 0.5f * z) +
          z * z * (4.166664568298827e-2f + z * (-1.388731625493765e-3f + z * 2.443315711809948e-5f));
  return t;
}
WT_FN bool wt_f32far(wt_f32v x) {
  const wt_f32m near = (x < 1.6e6f) & (x > -1.6e6f);
  return wt_f32any(~near);
}
WT_FN wt_f32v wt_f32sin(wt_f32v x) {
  if (__builtin_expect(wt_f32far(x), 0)) {
    for (int e = 0; e < wt_f32n; ++e) x[e] = __builtin_sinf(x[e]);
    return x;
  }
  const wt_f32turn t = wt_f32turned(x);
  const wt_f32v y = (t.quarters & 1) != 0 ? t.cos : t.sin;
  return (t.quarters & 2) != 0 ? -y : y;
}
WT_FN wt_f32v wt_f32cos(wt_f32v x) {
  if (__builtin_expect(wt_f32far(x), 0)) {
    for (int e = 0; e < wt_f32n; ++e) x[e] = __builtin_cosf(x[e]);
    return x;
  }
  const wt_f32turn t = wt_f32turned(x);
  const wt_f32v y = (t.quarters & 1) != 0 ? t.sin : t.cos;
  return ((t.quarters + 1) & 2) != 0 ? -y : y;
}
)wt"
