// SPDX-License-Identifier: Apache-2.0
// gamma.h: the first three derivatives of the logarithm of the gamma function.
R"wt(
template <class F>
WT_FN F wt_digamma(F x) {
  const F pi = F(3.141592653589793);
  if (x <= F(0) && x == WT_MATH(floor, x)) return F(WT_NAN);
  F sum = F(0);
  if (x < F(0)) {
    sum = -pi / WT_MATH(tan, (pi * (x - WT_MATH(floor, x))));
    x = F(1) - x;
  }
  for (; x < F(12); x += F(1)) sum -= F(1) / x;
  const F i = F(1) / (x * x);
  return sum + WT_MATH(log, x) - F(0.5) / x -
         i * (F(1.0 / 12) - i * (F(1.0 / 120) - i * (F(1.0 / 252) - i * (F(1.0 / 240) -
         i * (F(1.0 / 132) - i * F(691.0 / 32760))))));
}
template <class F>
WT_FN F wt_trigamma(F x) {
  const F pi = F(3.141592653589793);
  if (x <= F(0) && x == WT_MATH(floor, x)) return F(WT_INF);
  F sum = F(0), sign = F(1);
  if (x < F(0)) {
    const F s = WT_MATH(sin, (pi * (x - WT_MATH(floor, x))));
    sum = pi * pi / (s * s);
    sign = F(-1);
    x = F(1) - x;
  }
  F tail = F(0);
  for (; x < F(12); x += F(1)) tail += F(1) / (x * x);
  const F i = F(1) / (x * x);
  tail += F(1) / x + i * F(0.5) + i / x * (F(1.0 / 6) - i * (F(1.0 / 30) - i * (F(1.0 / 42) -
          i * (F(1.0 / 30) - i * (F(5.0 / 66) - i * F(691.0 / 2730))))));
  return sum + sign * tail;
}
template <class F>
WT_FN F wt_tetragamma(F x) {
  const F pi = F(3.141592653589793);
  if (x <= F(0) && x == WT_MATH(floor, x)) return F(WT_NAN);
  F sum = F(0);
  if (x < F(0)) {
    const F a = pi * (x - WT_MATH(floor, x)), s = WT_MATH(sin, a);
    sum = F(-2) * pi * pi * pi * WT_MATH(cos, a) / (s * s * s);
    x = F(1) - x;
  }
  for (; x < F(12); x += F(1)) sum -= F(2) / (x * x * x);
  const F i = F(1) / (x * x);
  return sum - i - i / x - i * i * (F(1.0 / 2) - i * (F(1.0 / 6) - i * (F(1.0 / 6) -
         i * (F(3.0 / 10) - i * (F(5.0 / 6) - i * F(691.0 / 210))))));
}
)wt"
