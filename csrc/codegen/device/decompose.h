// SPDX-License-Identifier: Apache-2.0
// decompose.h: a 4x4 matrix as position, rotation and scale.
R"wt(
template <class F>
WT_FN void wt_decompose(const F* m, F* p, F* q, F* s) {
  F a[3][3];
  for (int j = 0; j < 3; ++j) {
    F n = F(0);
    for (int i = 0; i < 3; ++i) n += m[i * 4 + j] * m[i * 4 + j];
    s[j] = WT_MATH(sqrt, n);
    for (int i = 0; i < 3; ++i) a[i][j] = m[i * 4 + j] / s[j];
    p[j] = m[j * 4 + 3];
  }
  const F trace = a[0][0] + a[1][1] + a[2][2];
  if (trace >= F(0)) {
    for (int i = 0; i < 3; ++i) q[i] = a[(i + 2) % 3][(i + 1) % 3] - a[(i + 1) % 3][(i + 2) % 3];
    q[3] = F(1) + trace;
  } else {
    const int c = a[0][0] >= a[1][1] && a[0][0] >= a[2][2] ? 0 : a[1][1] >= a[2][2] ? 1 : 2;
    const int u = (c + 1) % 3, v = (c + 2) % 3;
    q[c] = F(1) + a[c][c] - a[u][u] - a[v][v];
    q[u] = a[u][c] + a[c][u];
    q[v] = a[c][v] + a[v][c];
    q[3] = a[v][u] - a[u][v];
  }
  const F l = F(1) / WT_MATH(sqrt, (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]));
  for (int i = 0; i < 4; ++i) q[i] *= l;
}
)wt"
