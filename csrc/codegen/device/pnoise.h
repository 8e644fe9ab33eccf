// SPDX-License-Identifier: Apache-2.0
// pnoise.h: noise with its periods as numbers.
R"wt(
template <class F, int N>
WT_FN F wt_pnoise(u32 state, const F* x, i32 a, i32 b, i32 c, i32 d) {
  const i32 period[4] = {a, b, c, d};
  return wt_noise_at<F, N>(state, x, period);
}
)wt"
