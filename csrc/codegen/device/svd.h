// SPDX-License-Identifier: Apache-2.0
// svd.h: singular values of a square matrix of any size, stored by rows.
R"wt(
// Makes column j of u a unit vector at right angles to those before it: of the coordinate axes, what
// is left of the one that is furthest from them.
template <class F, int N>
WT_FN void wt_complete(F* u, int j) {
  F best = F(-1);
  for (int axis = 0; axis < N; ++axis) {
    F x[N], l = F(0);
    for (int i = 0; i < N; ++i) x[i] = i == axis ? F(1) : F(0);
    for (int turn = 0; turn < 2; ++turn)
      for (int k = 0; k < j; ++k) {
        F h = F(0);
        for (int i = 0; i < N; ++i) h += u[i * N + k] * x[i];
        for (int i = 0; i < N; ++i) x[i] -= h * u[i * N + k];
      }
    for (int i = 0; i < N; ++i) l += x[i] * x[i];
    if (l <= best) continue;
    best = l;
    for (int i = 0; i < N; ++i) u[i * N + j] = x[i] / WT_MATH(sqrt, l);
  }
}
template <class F, int N>
WT_FN void wt_svd(const F* a, F* u, F* s, F* v) {
  F b[N * N];
  const F m = wt_largest<F, N * N>(a);
  for (int i = 0; i < N * N; ++i) b[i] = m > F(0) ? a[i] / m : F(0);
  wt_orthogonal_columns<F, N>(b, v);
  for (int j = 0; j < N; ++j) {
    const F l = WT_MATH(sqrt, (wt_inner<F, N>(b + j, b + j, N)));
    s[j] = m * l;
    const bool zero = l <= F(N) * wt_epsilon<F>();
    for (int i = 0; !zero && i < N; ++i) u[i * N + j] = b[i * N + j] / l;
    if (zero) wt_complete<F, N>(u, j);
  }
}
)wt"
