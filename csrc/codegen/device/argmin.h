// SPDX-License-Identifier: Apache-2.0
// argmin.h: index of the extreme component; NaN is skipped.
R"wt(
template <class T, int kSize>
WT_FN u32 wt_argmin(const T* a) {
  i32 best = -1;
  for (i32 i = 0; i < kSize; ++i) {
    if (a[i] == a[i] && (best < 0 || a[i] < a[best])) best = i;
  }
  return best < 0 ? 0u : u32(best);
}
template <class T, int kSize>
WT_FN u32 wt_argmax(const T* a) {
  i32 best = -1;
  for (i32 i = 0; i < kSize; ++i) {
    if (a[i] == a[i] && (best < 0 || a[i] > a[best])) best = i;
  }
  return best < 0 ? 0u : u32(best);
}
)wt"
