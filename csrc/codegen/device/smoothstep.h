// SPDX-License-Identifier: Apache-2.0
// smoothstep.h: cubic step of a clamped parameter.
R"wt(
template <class F>
WT_FN F wt_smoothstep(F t) {
  t = t > F(0) ? (t < F(1) ? t : F(1)) : F(0);
  return t * t * (F(3) - F(2) * t);
}
)wt"
