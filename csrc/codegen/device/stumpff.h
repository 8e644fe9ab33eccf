// SPDX-License-Identifier: Apache-2.0
// stumpff.h: the functions sum over n of (-x)^n / (2n + k)!: cos, sin and what is left of them, of
// the square of an angle.
R"wt(
template <class F>
WT_FN F wt_stumpff(F x, i32 k) {
  F first = F(1);
  for (i32 i = 2; i <= k; ++i) first /= F(i);
  if (x < F(2) && x > F(-2)) {
    F sum = F(0);
    for (i32 n = 11; n > 0; --n) sum = (F(1) + sum) * (-x / F((2 * n + k) * (2 * n + k - 1)));
    return first * (F(1) + sum);
  }
  const F t = WT_MATH(sqrt, x);
  F c = (k & 1) ? WT_MATH(sin, t) / t : WT_MATH(cos, t), part = F(1);
  for (i32 i = k & 1; i < k; i += 2) {
    c = (part - c) / x;
    part /= F((i + 1) * (i + 2));
  }
  return c;
}
template <class F>
WT_FN F wt_arc_sq(F c) {
  const F t = c < F(1) ? WT_MATH(acos, c) : F(0);
  return t * t;
}
)wt"
