// SPDX-License-Identifier: Apache-2.0
// warp_add.h: additions to one element, n numbers side by side, made once for a warp. Threads that
// do not run together, or add to different elements, add for themselves.
R"wt(
template <int n, class T>
WT_FN void wt_warp_add(T* to, const T (&given)[n]) {
  constexpr int m = n > 8 ? 16 : n > 4 ? 8 : n > 2 ? 4 : n;
  constexpr int each = 32 / m;
  T x[m] = {};
#pragma unroll
  for (int k = 0; k < n; ++k) x[k] = given[k];
  const u32 lane = threadIdx.x & 31, all = 0xffffffffu;
  if (__activemask() != all ||
      !__all_sync(all, (u64)to == __shfl_sync(all, (u64)to, 0))) {
#pragma unroll
    for (int k = 0; k < n; ++k) wt_atomic_add(to + k, x[k]);
    return;
  }
  // First half of the lanes keeps the first half of the numbers, and so on.
  u32 step = 16;
#pragma unroll
  for (int half = m / 2; half > 0; half /= 2, step /= 2) {
    const bool upper = lane & step;
#pragma unroll
    for (int k = 0; k < half; ++k) {
      const T other = __shfl_xor_sync(all, upper ? x[k] : x[k + half], step);
      x[k] = (upper ? x[k + half] : x[k]) + other;
    }
  }
#pragma unroll
  for (; step > 0; step /= 2) x[0] += __shfl_xor_sync(all, x[0], step);
  if (lane % each == 0 && lane / each < n) wt_atomic_add(to + lane / each, x[0]);
}
)wt"
