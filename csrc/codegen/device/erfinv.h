// SPDX-License-Identifier: Apache-2.0
// erfinv.h: inverse of erf and erfc: a closed approximation, then Halley steps.
R"wt(
template <class F>
WT_FN F wt_erfcinv_tail(F y) {
  const F a = F(0.147), l = WT_MATH(log, y) + WT_MATH(log1p, (F(1) - y));
  const F t = F(4.330746750799873) + l * F(0.5);
  F z = WT_MATH(sqrt, (WT_MATH(sqrt, (t * t - l / a)) - t));
  for (i32 k = 0; k < 3; ++k) {
    const F u = (y - WT_MATH(erfc, z)) * F(0.886226925452758) * WT_MATH(exp, (z * z));
    z -= u / (F(1) + z * u);
  }
  return z;
}
template <class F>
WT_FN F wt_erfcinv(F y) {
  if (!(y >= F(0) && y <= F(2))) return F(WT_NAN);
  if (y == F(0)) return F(WT_INF);
  if (y == F(2)) return -F(WT_INF);
  return y <= F(1) ? wt_erfcinv_tail(y) : -wt_erfcinv_tail(F(2) - y);
}
template <class F>
WT_FN F wt_erfinv(F x) {
  const F m = x < F(0) ? -x : x;
  if (!(m <= F(1))) return F(WT_NAN);
  if (m == F(1)) return x * F(WT_INF);
  if (m >= F(0.5)) return x < F(0) ? -wt_erfcinv_tail(F(1) - m) : wt_erfcinv_tail(F(1) - m);
  F z = x * F(0.886226925452758);
  for (i32 k = 0; k < 4; ++k) {
    const F u = (WT_MATH(erf, z) - x) * F(0.886226925452758) * WT_MATH(exp, (z * z));
    z -= u / (F(1) + z * u);
  }
  return z;
}
)wt"
