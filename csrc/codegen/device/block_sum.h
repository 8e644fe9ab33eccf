// SPDX-License-Identifier: Apache-2.0
// block_sum.h: the sum of a value over a block's threads, in thread 0; zero in the others.
R"wt(
template <class T>
WT_FN T wt_warp_sum(T x, u32 threads) {
  const u32 place = threadIdx.x & 31;
  const u32 mask = threads >= 32 ? 0xffffffffu : (1u << threads) - 1;
#pragma unroll
  for (u32 step = 16; step > 0; step /= 2) {
    const T other = __shfl_down_sync(mask, x, step);
    if (place + step < threads) x += other;
  }
  return x;
}
template <class T>
__device__ __noinline__ T wt_block_sum(T x) {
  __shared__ T part[32];
  const u32 warp = threadIdx.x / 32, warps = (blockDim.x + 31) / 32;
  x = wt_warp_sum(x, blockDim.x - warp * 32);
  __syncthreads();
  if ((threadIdx.x & 31) == 0) part[warp] = x;
  __syncthreads();
  if (warp > 0) return 0;
  x = wt_warp_sum(threadIdx.x < warps ? part[threadIdx.x] : T(0), blockDim.x);
  return threadIdx.x == 0 ? x : T(0);
}
)wt"
