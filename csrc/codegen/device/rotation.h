// SPDX-License-Identifier: Apache-2.0
// rotation.h: Euler angles about any three axes, and rotations between vectors.
R"wt(
template <class F>
WT_FN void wt_quat_product(const F* a, const F* b, F* r) {
  for (int i = 0; i < 3; ++i)
    r[i] = a[3] * b[i] + a[i] * b[3] + a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
  r[3] = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
}
// The rotations by e[i] about axis i, then by e[j] about axis j, then by e[k] about axis k.
template <class F>
WT_FN void wt_from_euler(const F* e, i32 i, i32 j, i32 k, F* q) {
  const i32 axes[3] = {i, j, k};
  F all[4] = {F(0), F(0), F(0), F(1)};
  for (int n = 0; n < 3; ++n) {
    const i32 axis = axes[n] < 0 ? 0 : axes[n] > 2 ? 2 : axes[n];
    const F half = e[axis] * F(0.5);
    F one[4] = {F(0), F(0), F(0), WT_MATH(cos, half)};
    one[axis] = WT_MATH(sin, half);
    wt_quat_product(one, all, q);
    for (int c = 0; c < 4; ++c) all[c] = q[c];
  }
}
template <class F>
WT_FN F wt_wrapped(F x) {
  const F pi = F(3.141592653589793);
  return x > pi ? x - F(2) * pi : x < -pi ? x + F(2) * pi : x;
}
// Bernardes and Viollet 2022, for angles about fixed axes; angle n of the result belongs to axis n.
template <class F>
WT_FN void wt_to_euler(const F* q, i32 i, i32 j, i32 k, F* e) {
  const i32 m = 3 - i - j;
  e[0] = e[1] = e[2] = F(0);
  if (i == j || i < 0 || i > 2 || j < 0 || j > 2 || (k != i && k != m)) return;
  const bool proper = i == k;
  const F s = F((i - j) * (j - m) * (m - i) / 2);
  const F a = proper ? q[3] : q[3] - q[j], b = proper ? q[i] : q[i] + q[m] * s;
  const F c = proper ? q[j] : q[j] + q[3], d = proper ? q[m] * s : q[m] * s - q[i];
  const F near = WT_MATH(sqrt, (a * a + b * b)), far = WT_MATH(sqrt, (c * c + d * d));
  const F small = F(sizeof(F) == 8 ? 1e-12 : 1e-6) * (near + far);
  const F sum = WT_MATH2(atan2, b, a), gap = WT_MATH2(atan2, d, c);
  F first = sum - gap, third = sum + gap;
  if (far <= small) { first = F(0); third = F(2) * sum; }
  if (near <= small) { first = F(0); third = F(2) * gap; }
  e[i] = wt_wrapped(first);
  e[j] = F(2) * WT_MATH2(atan2, far, near) - (proper ? F(0) : F(1.5707963267948966));
  e[m] = wt_wrapped(proper ? third : third * s);
}
// Shortest rotation from the direction of a to that of b; about any axis where they are opposite.
template <class F>
WT_FN void wt_between(const F* a, const F* b, F* q) {
  F x = F(0), y = F(0), dot = F(0);
  for (int i = 0; i < 3; ++i) {
    x += a[i] * a[i];
    y += b[i] * b[i];
    dot += a[i] * b[i];
    q[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
  }
  const F n = WT_MATH(sqrt, x) * WT_MATH(sqrt, y);
  q[3] = n + dot;
  F l = WT_MATH(sqrt, (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]));
  if (!(l > F(sizeof(F) == 8 ? 1e-15 : 1e-7) * n)) {
    const bool flat = a[2] * a[2] > x * F(0.5);
    q[0] = flat ? F(0) : -a[1];
    q[1] = flat ? -a[2] : a[0];
    q[2] = flat ? a[1] : F(0);
    q[3] = F(0);
    l = WT_MATH(sqrt, (q[0] * q[0] + q[1] * q[1] + q[2] * q[2]));
  }
  if (!(l > F(0))) { q[0] = q[1] = q[2] = F(0); q[3] = l = F(1); }
  for (int i = 0; i < 4; ++i) q[i] /= l;
}
)wt"
