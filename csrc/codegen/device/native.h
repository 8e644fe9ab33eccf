// SPDX-License-Identifier: Apache-2.0
// native.h: the types and functions that the user's own text finds. Layouts are those of memory.
R"wt(
#ifdef __CUDACC__
#define WT_SINK static
#else
#define WT_SINK static thread_local
#endif
namespace wp {
typedef i8 int8; typedef u8 uint8; typedef i16 int16; typedef u16 uint16;
typedef i32 int32; typedef u32 uint32; typedef i64 int64; typedef u64 uint64;
typedef float float32; typedef double float64;
#define WT_NARROW(name, to, from) \
struct name { \
  u16 bits; \
  name() = default; \
  WT_MEMBER name(float x) : bits(from(x)) {} \
  WT_MEMBER operator float() const { return to(bits); } \
  WT_MEMBER name& operator+=(float x) { return *this = name(to(bits) + x); } \
  WT_MEMBER name& operator-=(float x) { return *this = name(to(bits) - x); } \
  WT_MEMBER name& operator*=(float x) { return *this = name(to(bits) * x); } \
  WT_MEMBER name& operator/=(float x) { return *this = name(to(bits) / x); } \
};
WT_NARROW(half, wt_f16_to_float, wt_f16_from_float)
WT_NARROW(bfloat16, wt_bf16_to_float, wt_bf16_from_float)
typedef half float16;
template <int N, class T>
struct vec_t {
  T c[N];
  vec_t() = default;
  template <class... A> WT_MEMBER vec_t(T first, A... more) : c{first, T(more)...} {
    if (sizeof...(more) == 0) for (int i = 1; i < N; ++i) c[i] = first;
  }
  template <class I> WT_MEMBER T& operator[](I i) { return c[i]; }
  template <class I> WT_MEMBER const T& operator[](I i) const { return c[i]; }
};
#define WT_EACH(op) \
template <int N, class T> WT_FN vec_t<N, T> operator op(vec_t<N, T> a, const vec_t<N, T>& b) { \
  for (int i = 0; i < N; ++i) a.c[i] = a.c[i] op b.c[i]; \
  return a; \
} \
template <int N, class T> WT_FN vec_t<N, T>& operator op##=(vec_t<N, T>& a, const vec_t<N, T>& b) { \
  return a = a op b; \
}
WT_EACH(+) WT_EACH(-)
template <int N, class T> WT_FN vec_t<N, T> operator-(vec_t<N, T> a) {
  for (int i = 0; i < N; ++i) a.c[i] = -a.c[i];
  return a;
}
template <int N, class T, class S> WT_FN vec_t<N, T> operator*(vec_t<N, T> a, S s) {
  for (int i = 0; i < N; ++i) a.c[i] = T(a.c[i] * T(s));
  return a;
}
template <int N, class T> WT_FN vec_t<N, T> operator*(T s, vec_t<N, T> a) { return a * s; }
template <int N, class T, class S> WT_FN vec_t<N, T> operator/(vec_t<N, T> a, S s) {
  for (int i = 0; i < N; ++i) a.c[i] = T(a.c[i] / T(s));
  return a;
}
template <int N, class T, class S> WT_FN vec_t<N, T>& operator*=(vec_t<N, T>& a, S s) {
  return a = a * s;
}
template <int N, class T> WT_FN T dot(const vec_t<N, T>& a, const vec_t<N, T>& b) {
  T sum = T(0);
  for (int i = 0; i < N; ++i) sum = T(sum + a.c[i] * b.c[i]);
  return sum;
}
template <class T> WT_FN vec_t<3, T> cross(const vec_t<3, T>& a, const vec_t<3, T>& b) {
  return vec_t<3, T>(a.c[1] * b.c[2] - a.c[2] * b.c[1], a.c[2] * b.c[0] - a.c[0] * b.c[2],
                     a.c[0] * b.c[1] - a.c[1] * b.c[0]);
}
template <int N, class T> WT_FN T length_sq(const vec_t<N, T>& a) { return dot(a, a); }
template <int N, class T> WT_FN T length(const vec_t<N, T>& a) {
  const T x = dot(a, a);
  return T(WT_MATH(sqrt, x));
}
template <int N, class T> WT_FN vec_t<N, T> normalize(const vec_t<N, T>& a) {
  const T n = length(a);
  return n > T(0) ? a / n : a * T(0);
}
template <int R, int C, class T>
struct mat_t {
  T data[R][C];
  mat_t() = default;
  template <class... A> WT_MEMBER mat_t(T first, A... more) : data() {
    const T all[] = {first, T(more)...};
    for (int i = 0; i < R * C; ++i) data[i / C][i % C] = sizeof...(more) ? all[sizeof...(more) ? i : 0] : first;
  }
  template <class I> WT_MEMBER vec_t<C, T>& operator[](I r) { return *(vec_t<C, T>*)data[r]; }
  template <class I> WT_MEMBER const vec_t<C, T>& operator[](I r) const {
    return *(const vec_t<C, T>*)data[r];
  }
  template <class I, class J> WT_MEMBER T& operator()(I r, J c) { return data[r][c]; }
  template <class I, class J> WT_MEMBER const T& operator()(I r, J c) const { return data[r][c]; }
};
template <int R, int C, class T>
WT_FN vec_t<R, T> operator*(const mat_t<R, C, T>& m, const vec_t<C, T>& v) {
  vec_t<R, T> out;
  for (int r = 0; r < R; ++r) out.c[r] = dot(m[r], v);
  return out;
}
template <int R, int K, int C, class T>
WT_FN mat_t<R, C, T> operator*(const mat_t<R, K, T>& a, const mat_t<K, C, T>& b) {
  mat_t<R, C, T> out;
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) {
      T sum = T(0);
      for (int k = 0; k < K; ++k) sum = T(sum + a.data[r][k] * b.data[k][c]);
      out.data[r][c] = sum;
    }
  return out;
}
template <int R, int C, class T>
WT_FN mat_t<R, C, T>& operator+=(mat_t<R, C, T>& a, const mat_t<R, C, T>& b) {
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) a.data[r][c] = T(a.data[r][c] + b.data[r][c]);
  return a;
}
template <class T>
struct quat_t {
  T x, y, z, w;
  quat_t() = default;
  WT_MEMBER quat_t(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
  template <class I> WT_MEMBER T& operator[](I i) { return (&x)[i]; }
};
template <class T>
WT_FN quat_t<T>& operator+=(quat_t<T>& a, const quat_t<T>& b) {
  return a = quat_t<T>(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
template <class T>
struct transform_t {
  vec_t<3, T> p;
  quat_t<T> q;
};
/// An array. Without memory (a gradient that nobody wants) what is written to it is lost.
template <class T>
struct array_t {
  T* data;
  i64 strides[4];
  i32 shape[4];
  i32 ndim;
  WT_MEMBER static T& sink() {
    alignas(T) WT_SINK char memory[sizeof(T)];
    return *(T*)memory;
  }
  WT_MEMBER T& at(i64 bytes) const { return data ? *(T*)((char*)data + bytes) : sink(); }
  template <class I> WT_MEMBER T& operator[](I i) const {
    return at(i64(i) * (ndim == 1 ? strides[0] : i64(sizeof(T))));
  }
  template <class I> WT_MEMBER T& operator()(I i) const { return at(i64(i) * strides[0]); }
  template <class I, class J> WT_MEMBER T& operator()(I i, J j) const {
    return at(i64(i) * strides[0] + i64(j) * strides[1]);
  }
  template <class I, class J, class K> WT_MEMBER T& operator()(I i, J j, K k) const {
    return at(i64(i) * strides[0] + i64(j) * strides[1] + i64(k) * strides[2]);
  }
  WT_MEMBER i64 size() const {
    i64 n = 1;
    for (int d = 0; d < ndim; ++d) n *= shape[d];
    return n;
  }
  WT_MEMBER bool empty() const { return data == nullptr; }
  WT_MEMBER operator T*() const { return data ? data : &sink(); }
};
template <class T, class I, class V> WT_FN T atomic_add(const array_t<T>& a, I i, V v) {
  return wt_atomic_add(&a[i], T(v));
}
#define WT_MATH_NAME(name) \
template <class T> WT_FN T name(T x) { return WT_MATH(name, x); }
WT_MATH_NAME(sqrt) WT_MATH_NAME(sin) WT_MATH_NAME(cos) WT_MATH_NAME(tan) WT_MATH_NAME(exp)
WT_MATH_NAME(log) WT_MATH_NAME(floor) WT_MATH_NAME(ceil) WT_MATH_NAME(asin) WT_MATH_NAME(acos)
WT_MATH_NAME(atan) WT_MATH_NAME(tanh)
template <class T> WT_FN T min(T a, T b) { return b < a ? b : a; }
template <class T> WT_FN T max(T a, T b) { return a < b ? b : a; }
template <class T> WT_FN T abs(T x) { return x < T(0) ? T(-x) : x; }
template <class T> WT_FN T clamp(T x, T low, T high) { return min(max(x, low), high); }
template <class T> WT_FN T pow(T x, T y) { return WT_MATH2(pow, x, y); }
#define WT_NAMES(N) \
typedef vec_t<N, float> vec##N; typedef vec_t<N, float> vec##N##f; \
typedef vec_t<N, double> vec##N##d; typedef vec_t<N, half> vec##N##h; \
typedef vec_t<N, i32> vec##N##i; typedef vec_t<N, u32> vec##N##ui; \
typedef mat_t<N, N, float> mat##N##N; typedef mat_t<N, N, float> mat##N##N##f; \
typedef mat_t<N, N, double> mat##N##N##d;
WT_NAMES(2) WT_NAMES(3) WT_NAMES(4)
typedef quat_t<float> quat; typedef quat_t<float> quatf; typedef quat_t<double> quatd;
typedef transform_t<float> transform; typedef transform_t<float> transformf;
typedef transform_t<double> transformd;
typedef vec_t<6, float> spatial_vector; typedef mat_t<6, 6, float> spatial_matrix;
}
#ifndef __CUDACC__
#define WT_ARRAY_ATOMIC(name) \
template <class T, class V> WT_FN T name(const wp::array_t<T>& a, V v) { return name((T*)a, v); }
WT_ARRAY_ATOMIC(atomicAdd) WT_ARRAY_ATOMIC(atomicSub) WT_ARRAY_ATOMIC(atomicMin)
WT_ARRAY_ATOMIC(atomicMax) WT_ARRAY_ATOMIC(atomicAnd) WT_ARRAY_ATOMIC(atomicOr)
WT_ARRAY_ATOMIC(atomicXor) WT_ARRAY_ATOMIC(atomicExch)
#endif
)wt"
