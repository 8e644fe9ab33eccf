// SPDX-License-Identifier: Apache-2.0
// reinterpret.h: the bits of a number as another type of the same size.
R"wt(
template <class To, class From>
WT_FN To wt_reinterpret(From x) {
  To y;
  for (int i = 0; i < int(sizeof(To)); ++i) ((unsigned char*)&y)[i] = ((const unsigned char*)&x)[i];
  return y;
}
)wt"
