// SPDX-License-Identifier: Apache-2.0
// lanes_math.h: sine and cosine of vectors of threads. The argument is taken modulo a quarter turn,
// with fused multiply-adds where the processor has them, else in double precision; beyond 2^16
// quarters thread by thread.
R"wt(
#if WT_BYTES == 64 && !defined(__clang__)
#define WT_FMA_F32(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, (unsigned short)-1, 4)
#elif defined(__FMA__) && WT_BYTES == 32 && !defined(__clang__)
#define WT_FMA_F32(a, b, c) __builtin_ia32_vfmaddps256(a, b, c)
#endif
#ifdef WT_FMA_F32
#define WT_MUL_ADD(a, b, c) WT_FMA_F32(a, b, c)
WT_FN void wt_quarters(wt_f32v x, wt_f32v& rest, wt_f32m& quarters) {
  const wt_f32v n = (x * 0.63661975f + 12582912.0f) - 12582912.0f;
  rest = WT_FMA_F32(n, wt_f32all(-1.57079637050628662109375f), x);
  rest = WT_FMA_F32(n, wt_f32all(4.37113900018624283e-8f), rest);
  rest = WT_FMA_F32(n, wt_f32all(1.71512451e-15f), rest);
  quarters = __builtin_convertvector(n, wt_f32m);
}
#else
#define WT_MUL_ADD(a, b, c) ((a) * (b) + (c))
typedef float wt_f32half __attribute__((vector_size(WT_BYTES / 2)));
typedef int wt_i32half __attribute__((vector_size(WT_BYTES / 2)));
WT_FN void wt_quarters(wt_f32v x, wt_f32v& rest, wt_f32m& quarters) {
  wt_f32half part[2], r[2];
  wt_i32half q[2];
  __builtin_memcpy(part, &x, WT_BYTES);
  for (int i = 0; i < 2; ++i) {
    const wt_f64v d = __builtin_convertvector(part[i], wt_f64v);
    const wt_f64v n = (d * 0.6366197723675814 + 6755399441055744.0) - 6755399441055744.0;
    r[i] = __builtin_convertvector(
        (d - n * 1.57079632673412561417e+00) - n * 6.07710050650619224932e-11, wt_f32half);
    q[i] = __builtin_convertvector(n, wt_i32half);
  }
  __builtin_memcpy(&rest, r, WT_BYTES);
  __builtin_memcpy(&quarters, q, WT_BYTES);
}
#endif
WT_FN bool wt_f32far(wt_f32v x) {
  const wt_f32m far = ~((x < 1e5f) & (x > -1e5f));
  long long part[WT_BYTES / 8], any = 0;
  __builtin_memcpy(part, &far, WT_BYTES);
  for (int i = 0; i < WT_BYTES / 8; ++i) any |= part[i];
  return any != 0;
}
/// Sine of x plus that many quarter turns.
WT_FN wt_f32v wt_f32turned(wt_f32v x, int turn) {
  wt_f32v r;
  wt_f32m q;
  wt_quarters(x, r, q);
  const wt_f32v z = r * r, one = wt_f32all(1.0f);
  wt_f32v s = WT_MUL_ADD(z, wt_f32all(-1.9515295891e-4f), wt_f32all(8.3321608736e-3f));
  s = WT_MUL_ADD(s, z, wt_f32all(-1.6666654611e-1f));
  s = WT_MUL_ADD(s * z, r, r);
  wt_f32v c = WT_MUL_ADD(z, wt_f32all(2.443315711809948e-5f), wt_f32all(-1.388731625493765e-3f));
  c = WT_MUL_ADD(c, z, wt_f32all(4.166664568298827e-2f));
  c = WT_MUL_ADD(c, z * z, WT_MUL_ADD(z, wt_f32all(-0.5f), one));
  q += turn;
  const wt_f32v y = (q & 1) != 0 ? c : s;
  return (q & 2) != 0 ? -y : y;
}
WT_FN wt_f32v wt_f32sin(wt_f32v x) {
  if (__builtin_expect(!wt_f32far(x), 1)) return wt_f32turned(x, 0);
  for (int e = 0; e < wt_f32n; ++e) x[e] = __builtin_sinf(x[e]);
  return x;
}
WT_FN wt_f32v wt_f32cos(wt_f32v x) {
  if (__builtin_expect(!wt_f32far(x), 1)) return wt_f32turned(x, 1);
  for (int e = 0; e < wt_f32n; ++e) x[e] = __builtin_cosf(x[e]);
  return x;
}
)wt"
