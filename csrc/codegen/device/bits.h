// SPDX-License-Identifier: Apache-2.0
// bits.h: positions and order of bits.
R"wt(
template <class T>
WT_FN i32 wt_leading_zeros(T x) {
  const i32 width = i32(sizeof(T)) * 8;
  for (i32 i = 0; i < width; ++i)
    if ((u64(x) >> (width - 1 - i)) & 1u) return i;
  return width;
}
template <class T>
WT_FN i32 wt_first_set(T x) {
  const i32 width = i32(sizeof(T)) * 8;
  for (i32 i = 0; i < width; ++i)
    if ((u64(x) >> i) & 1u) return i + 1;
  return 0;
}
template <class T>
WT_FN T wt_reversed_bits(T x) {
  const i32 width = i32(sizeof(T)) * 8;
  u64 r = 0;
  for (i32 i = 0; i < width; ++i) r |= ((u64(x) >> i) & 1u) << (width - 1 - i);
  return T(r);
}
)wt"
