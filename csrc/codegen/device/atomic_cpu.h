// SPDX-License-Identifier: Apache-2.0
// atomic_cpu.h: atomics of host code: one compare-and-swap loop.
R"wt(
template <class T, class Op>
WT_FN T wt_atomic_rmw(T* p, Op op) {
  T old, next;
  __atomic_load(p, &old, __ATOMIC_RELAXED);
  do next = op(old);
  while (!__atomic_compare_exchange(p, &old, &next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}
WT_FN float wt_sum(float a, float b) { return a + b; }
WT_FN double wt_sum(double a, double b) { return a + b; }
template <class T>
WT_FN T wt_sum(T a, T b) { return T(u64(a) + u64(b)); }
template <class T>
WT_FN T wt_atomic_add(T* p, T v) { return wt_atomic_rmw(p, [=](T a) { return wt_sum(a, v); }); }
template <class T>
WT_FN T wt_atomic_sub(T* p, T v) { return wt_atomic_add(p, T(-v)); }
template <class T>
WT_FN T wt_atomic_min(T* p, T v) {
  return wt_atomic_rmw(p, [=](T a) { return v < a || v != v ? v : a; });
}
template <class T>
WT_FN T wt_atomic_max(T* p, T v) {
  return wt_atomic_rmw(p, [=](T a) { return v > a || v != v ? v : a; });
}
template <class T>
WT_FN T wt_atomic_and(T* p, T v) { return __atomic_fetch_and(p, v, __ATOMIC_RELAXED); }
template <class T>
WT_FN T wt_atomic_or(T* p, T v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }
template <class T>
WT_FN T wt_atomic_xor(T* p, T v) { return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED); }
template <class T>
WT_FN T wt_atomic_exch(T* p, T v) {
  T old;
  __atomic_exchange(p, &v, &old, __ATOMIC_RELAXED);
  return old;
}
template <class T>
WT_FN T wt_atomic_cas(T* p, T expected, T v) {
  __atomic_compare_exchange(p, &expected, &v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
)wt"
