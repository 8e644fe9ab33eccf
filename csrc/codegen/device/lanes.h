// SPDX-License-Identifier: Apache-2.0
// lanes.h: vectors that hold one value of several neighbouring threads, as wide as a register.
R"wt(
#if defined(__AVX512F__)
#define WT_BYTES 64
#elif defined(__AVX__)
#define WT_BYTES 32
#else
#define WT_BYTES 16
#endif
typedef float wt_f32v __attribute__((vector_size(WT_BYTES)));
typedef double wt_f64v __attribute__((vector_size(WT_BYTES)));
typedef decltype(wt_f32v{} < wt_f32v{}) wt_f32m;
typedef decltype(wt_f64v{} < wt_f64v{}) wt_f64m;
enum { wt_f32n = WT_BYTES / 4, wt_f64n = WT_BYTES / 8 };
WT_FN wt_f32v wt_f32all(float x) { return x - wt_f32v{}; }
WT_FN wt_f32m wt_f32all(bool x) { return wt_f32m{} - int(x); }
WT_FN wt_f64v wt_f64all(double x) { return x - wt_f64v{}; }
WT_FN wt_f64m wt_f64all(bool x) { return wt_f64m{} - int(x); }

// Neighbouring threads' elements that lie side by side in memory: whole registers at a time, and
// for elements of two components a split by component.
#if WT_BYTES == 64
#define WT_EVEN_F32(a, b) \
  a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define WT_ODD_F32(a, b) \
  a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define WT_LOW_F32(a, b) a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define WT_HIGH_F32(a, b) a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define WT_EVEN_F64(a, b) a, b, 0, 2, 4, 6, 8, 10, 12, 14
#define WT_ODD_F64(a, b) a, b, 1, 3, 5, 7, 9, 11, 13, 15
#define WT_LOW_F64(a, b) a, b, 0, 8, 1, 9, 2, 10, 3, 11
#define WT_HIGH_F64(a, b) a, b, 4, 12, 5, 13, 6, 14, 7, 15
#elif WT_BYTES == 32
#define WT_EVEN_F32(a, b) a, b, 0, 2, 4, 6, 8, 10, 12, 14
#define WT_ODD_F32(a, b) a, b, 1, 3, 5, 7, 9, 11, 13, 15
#define WT_LOW_F32(a, b) a, b, 0, 8, 1, 9, 2, 10, 3, 11
#define WT_HIGH_F32(a, b) a, b, 4, 12, 5, 13, 6, 14, 7, 15
#define WT_EVEN_F64(a, b) a, b, 0, 2, 4, 6
#define WT_ODD_F64(a, b) a, b, 1, 3, 5, 7
#define WT_LOW_F64(a, b) a, b, 0, 4, 1, 5
#define WT_HIGH_F64(a, b) a, b, 2, 6, 3, 7
#else
#define WT_EVEN_F32(a, b) a, b, 0, 2, 4, 6
#define WT_ODD_F32(a, b) a, b, 1, 3, 5, 7
#define WT_LOW_F32(a, b) a, b, 0, 4, 1, 5
#define WT_HIGH_F32(a, b) a, b, 2, 6, 3, 7
#define WT_EVEN_F64(a, b) a, b, 0, 2
#define WT_ODD_F64(a, b) a, b, 1, 3
#define WT_LOW_F64(a, b) a, b, 0, 2
#define WT_HIGH_F64(a, b) a, b, 1, 3
#endif
#define WT_SIDE_BY_SIDE(v, even, odd, low, high)                                       \
  WT_FN void v##load1(const char* p, v& a) { __builtin_memcpy(&a, p, WT_BYTES); }      \
  WT_FN void v##store1(char* p, v a) { __builtin_memcpy(p, &a, WT_BYTES); }            \
  WT_FN void v##load2(const char* p, v& a, v& b) {                                     \
    v x, y;                                                                            \
    __builtin_memcpy(&x, p, WT_BYTES);                                                 \
    __builtin_memcpy(&y, p + WT_BYTES, WT_BYTES);                                      \
    a = __builtin_shufflevector(even(x, y));                                           \
    b = __builtin_shufflevector(odd(x, y));                                            \
  }                                                                                    \
  WT_FN void v##store2(char* p, v a, v b) {                                            \
    v x = __builtin_shufflevector(low(a, b)), y = __builtin_shufflevector(high(a, b)); \
    __builtin_memcpy(p, &x, WT_BYTES);                                                 \
    __builtin_memcpy(p + WT_BYTES, &y, WT_BYTES);                                      \
  }
WT_SIDE_BY_SIDE(wt_f32v, WT_EVEN_F32, WT_ODD_F32, WT_LOW_F32, WT_HIGH_F32)
WT_SIDE_BY_SIDE(wt_f64v, WT_EVEN_F64, WT_ODD_F64, WT_LOW_F64, WT_HIGH_F64)
)wt"
