// SPDX-License-Identifier: Apache-2.0
// base_cpu.h: qualifiers and compiler functions of host code.
R"wt(
#define WT_FN static inline
#define WT_LARGE static
#define WT_MEMBER inline
#define WT_MATH(name, x) \
  decltype(+x)(sizeof(x) == 8 ? __builtin_##name(x) : __builtin_##name##f(x))
#define WT_MATH2(name, x, y) \
  decltype((x) + (y))(sizeof((x) + (y)) == 8 ? __builtin_##name(x, y) : __builtin_##name##f(x, y))
#if defined(__x86_64__) || defined(__i386__)
#define WT_BREAK __asm__ volatile("int3")
#else
#define WT_BREAK __builtin_trap()
#endif
#define WT_NAN __builtin_nanf("")
#define WT_INF __builtin_inff()
WT_FN unsigned wt_bits(float x) { unsigned u; __builtin_memcpy(&u, &x, 4); return u; }
WT_FN float wt_float(unsigned u) { float x; __builtin_memcpy(&x, &u, 4); return x; }
)wt"
