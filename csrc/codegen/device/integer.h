// SPDX-License-Identifier: Apache-2.0
// integer.h: integer division, power and bit count.
R"wt(
template <class T>
WT_FN T wt_div(T x, T y) {
  if (y == T(0)) return T(0);
  if (T(-1) < T(0) && y == T(-1)) return T(u64(0) - u64(x));
  return T(x / y);
}
template <class T>
WT_FN T wt_mod(T x, T y) {
  if (y == T(0)) return x;
  if (T(-1) < T(0) && y == T(-1)) return T(0);
  return T(x % y);
}
template <class T>
WT_FN T wt_floordiv(T x, T y) {
  T q = wt_div(x, y);
  return T(-1) < T(0) && wt_mod(x, y) != T(0) && y != T(0) && (x < T(0)) != (y < T(0)) ? T(q - 1) : q;
}
template <class T>
WT_FN T wt_ipow(T x, T y) {
  if (T(-1) < T(0) && y < T(0)) {
    if (x == T(1)) return T(1);
    return x == T(-1) ? ((y & 1) ? T(-1) : T(1)) : T(0);
  }
  u64 r = 1, b = u64(x);
  for (u64 n = u64(y); n; n >>= 1, b *= b) r = (n & 1) ? r * b : r;
  return T(r);
}
template <class T>
WT_FN i32 wt_bit_count(T x) {
  u64 v = sizeof(T) == 8 ? u64(x) : u64(x) & ((u64(1) << (sizeof(T) * 8 % 64)) - 1);
  i32 n = 0;
  for (; v; v &= v - 1) ++n;
  return n;
}
)wt"
