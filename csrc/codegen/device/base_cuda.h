// SPDX-License-Identifier: Apache-2.0
// base_cuda.h: qualifiers and compiler functions of CUDA code.
R"wt(
#pragma nv_diag_suppress 177, 186
#define WT_FN static __device__ __forceinline__
#define WT_LARGE static __device__ __noinline__
#define WT_MEMBER __device__ __forceinline__
#define WT_MATH(name, x) decltype(+x)(sizeof(x) == 8 ? name(x) : name##f(x))
#define WT_MATH2(name, x, y) \
  decltype((x) + (y))(sizeof((x) + (y)) == 8 ? name(x, y) : name##f(x, y))
#define WT_NAN __int_as_float(0x7fc00000)
#define WT_INF __int_as_float(0x7f800000)
WT_FN unsigned wt_bits(float x) { return __float_as_uint(x); }
WT_FN float wt_float(unsigned u) { return __uint_as_float(u); }
)wt"
