// SPDX-License-Identifier: Apache-2.0
// to_int.h: float to integer: truncates, saturates out of range, and NaN gives 0.
R"wt(
template <class T, class F>
WT_FN T wt_to_int(F x) {
  constexpr bool is_signed = T(-1) < T(0);
  constexpr int width = int(sizeof(T)) * 8 - (is_signed ? 1 : 0);
  constexpr F edge = F(u64(1) << (width - 1)) * F(2);
  constexpr T most = T((((u64(1) << (width - 1)) - 1) << 1) + 1);
  if (x != x) return T(0);
  if (x >= edge) return most;
  if (is_signed ? x <= -edge : x <= F(0)) return is_signed ? T(-most - 1) : T(0);
  return T(x);
}
)wt"
