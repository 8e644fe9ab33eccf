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
)wt"
