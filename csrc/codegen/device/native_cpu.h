// SPDX-License-Identifier: Apache-2.0
// native_cpu.h: what native text finds on the CPU of what CUDA has by itself.
R"wt(
#include <math.h>
#include <stdint.h>
template <class T, class V> WT_FN T atomicAdd(T* p, V v) { return wt_atomic_add(p, T(v)); }
template <class T, class V> WT_FN T atomicSub(T* p, V v) { return wt_atomic_sub(p, T(v)); }
template <class T, class V> WT_FN T atomicMin(T* p, V v) { return wt_atomic_min(p, T(v)); }
template <class T, class V> WT_FN T atomicMax(T* p, V v) { return wt_atomic_max(p, T(v)); }
template <class T, class V> WT_FN T atomicAnd(T* p, V v) { return wt_atomic_and(p, T(v)); }
template <class T, class V> WT_FN T atomicOr(T* p, V v) { return wt_atomic_or(p, T(v)); }
template <class T, class V> WT_FN T atomicXor(T* p, V v) { return wt_atomic_xor(p, T(v)); }
template <class T, class V> WT_FN T atomicExch(T* p, V v) { return wt_atomic_exch(p, T(v)); }
template <class T, class U, class V> WT_FN T atomicCAS(T* p, U expected, V v) {
  return wt_atomic_cas(p, T(expected), T(v));
}
)wt"
