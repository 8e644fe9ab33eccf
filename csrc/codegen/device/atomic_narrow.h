// SPDX-License-Identifier: Apache-2.0
// atomic_narrow.h: atomics on float16 and bfloat16.
R"wt(
#define WT_NARROW_ATOMIC(kind, type, value)                                     \
  WT_FN float wt_atomic_##kind##_##type(u16* p, float v) {                      \
    return wt_##type##_to_float(wt_atomic_rmw(p, [=](u16 bits) -> u16 {         \
      float a = wt_##type##_to_float(bits);                                     \
      (void)a;                                                                  \
      return wt_##type##_from_float(value);                                     \
    }));                                                                        \
  }
WT_NARROW_ATOMIC(add, f16, a + v)
WT_NARROW_ATOMIC(sub, f16, a - v)
WT_NARROW_ATOMIC(min, f16, (v < a || v != v ? v : a))
WT_NARROW_ATOMIC(max, f16, (v > a || v != v ? v : a))
WT_NARROW_ATOMIC(exch, f16, v)
WT_NARROW_ATOMIC(add, bf16, a + v)
WT_NARROW_ATOMIC(sub, bf16, a - v)
WT_NARROW_ATOMIC(min, bf16, (v < a || v != v ? v : a))
WT_NARROW_ATOMIC(max, bf16, (v > a || v != v ? v : a))
WT_NARROW_ATOMIC(exch, bf16, v)
)wt"
