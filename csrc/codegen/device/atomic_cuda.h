// SPDX-License-Identifier: Apache-2.0
// atomic_cuda.h: atomics of CUDA code: native where the hardware has them, else compare-and-swap.
R"wt(
WT_FN u32 wt_swap_word(u32* p, u32 a, u32 b) { return atomicCAS(p, a, b); }
WT_FN u64 wt_swap_word(u64* p, u64 a, u64 b) { return atomicCAS(p, a, b); }
WT_FN u16 wt_swap_word(u16* p, u16 a, u16 b) { return atomicCAS(p, a, b); }
WT_FN u8 wt_swap_word(u8* p, u8 a, u8 b) {
  u32* word = (u32*)((u64)p & ~3ull);
  u32 shift = u32((u64)p & 3) * 8, old = *word, seen;
  do {
    if (u8(old >> shift) != a) return u8(old >> shift);
    seen = old;
    old = atomicCAS(word, seen, (seen & ~(0xffu << shift)) | (u32(b) << shift));
  } while (old != seen);
  return a;
}
template <int kSize> struct wt_word;
template <> struct wt_word<1> { typedef u8 type; };
template <> struct wt_word<2> { typedef u16 type; };
template <> struct wt_word<4> { typedef u32 type; };
template <> struct wt_word<8> { typedef u64 type; };
template <class T>
WT_FN T wt_atomic_cas(T* p, T expected, T v) {
  typedef typename wt_word<int(sizeof(T))>::type W;
  W a, b;
  memcpy(&a, &expected, sizeof(T));
  memcpy(&b, &v, sizeof(T));
  a = wt_swap_word((W*)p, a, b);
  memcpy(&v, &a, sizeof(T));
  return v;
}
template <class T, class Op>
WT_FN T wt_atomic_rmw(T* p, Op op) {
  typedef typename wt_word<int(sizeof(T))>::type W;
  W seen, old = *(volatile W*)p;
  T value;
  do {
    seen = old;
    memcpy(&value, &seen, sizeof(T));
    T next = op(value);
    W word;
    memcpy(&word, &next, sizeof(T));
    old = wt_swap_word((W*)p, seen, word);
  } while (old != seen);
  return value;
}
template <class T>
WT_FN T wt_atomic_add(T* p, T v) { return wt_atomic_rmw(p, [=](T a) { return T(a + v); }); }
WT_FN float wt_atomic_add(float* p, float v) { return atomicAdd(p, v); }
WT_FN double wt_atomic_add(double* p, double v) { return atomicAdd(p, v); }
WT_FN i32 wt_atomic_add(i32* p, i32 v) { return atomicAdd(p, v); }
WT_FN u32 wt_atomic_add(u32* p, u32 v) { return atomicAdd(p, v); }
WT_FN u64 wt_atomic_add(u64* p, u64 v) { return atomicAdd(p, v); }
WT_FN i64 wt_atomic_add(i64* p, i64 v) { return i64(atomicAdd((u64*)p, u64(v))); }
template <class T>
WT_FN T wt_atomic_sub(T* p, T v) { return wt_atomic_add(p, T(-v)); }
template <class T>
WT_FN T wt_atomic_min(T* p, T v) {
  return wt_atomic_rmw(p, [=](T a) { return v < a || v != v ? v : a; });
}
WT_FN i32 wt_atomic_min(i32* p, i32 v) { return atomicMin(p, v); }
WT_FN u32 wt_atomic_min(u32* p, u32 v) { return atomicMin(p, v); }
WT_FN i64 wt_atomic_min(i64* p, i64 v) { return atomicMin(p, v); }
WT_FN u64 wt_atomic_min(u64* p, u64 v) { return atomicMin(p, v); }
template <class T>
WT_FN T wt_atomic_max(T* p, T v) {
  return wt_atomic_rmw(p, [=](T a) { return v > a || v != v ? v : a; });
}
WT_FN i32 wt_atomic_max(i32* p, i32 v) { return atomicMax(p, v); }
WT_FN u32 wt_atomic_max(u32* p, u32 v) { return atomicMax(p, v); }
WT_FN i64 wt_atomic_max(i64* p, i64 v) { return atomicMax(p, v); }
WT_FN u64 wt_atomic_max(u64* p, u64 v) { return atomicMax(p, v); }
template <class T>
WT_FN T wt_atomic_and(T* p, T v) { return wt_atomic_rmw(p, [=](T a) { return T(a & v); }); }
template <class T>
WT_FN T wt_atomic_or(T* p, T v) { return wt_atomic_rmw(p, [=](T a) { return T(a | v); }); }
template <class T>
WT_FN T wt_atomic_xor(T* p, T v) { return wt_atomic_rmw(p, [=](T a) { return T(a ^ v); }); }
template <class T>
WT_FN T wt_atomic_exch(T* p, T v) { return wt_atomic_rmw(p, [=](T) { return v; }); }
)wt"
