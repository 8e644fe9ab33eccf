// SPDX-License-Identifier: Apache-2.0
// linear.h: decompositions and linear systems of small matrices, stored by rows.
R"wt(
template <class F>
WT_FN F wt_abs(F x) { return x < F(0) ? -x : x; }
template <class F>
WT_FN F wt_epsilon() { return F(sizeof(F) == 8 ? 2.220446049250313e-16 : 1.1920928955078125e-7); }
template <class F, int N>
WT_FN F wt_inner(const F* a, const F* b, int stride) {
  F s = a[0] * b[0];
  for (int i = 1; i < N; ++i) s += a[i * stride] * b[i * stride];
  return s;
}
template <class F, int N>
WT_FN void wt_identity(F* q) {
  for (int i = 0; i < N * N; ++i) q[i] = i % (N + 1) == 0 ? F(1) : F(0);
}
template <class F, int N>
WT_FN F wt_largest(const F* a) {
  F m = F(0);
  for (int i = 0; i < N; ++i) m = wt_abs(a[i]) > m ? wt_abs(a[i]) : m;
  return m;
}
// Rotates columns p and q of the N rows of a by the cosine c and the sine s.
template <class F, int N>
WT_FN void wt_turn(F* a, int p, int q, F c, F s) {
  for (int k = 0; k < N; ++k) {
    const F x = a[k * N + p], y = a[k * N + q];
    a[k * N + p] = c * x - s * y;
    a[k * N + q] = s * x + c * y;
  }
}
template <class F>
WT_FN void wt_angle(F zeta, F* c, F* s) {
  const F t = (zeta < F(0) ? F(-1) : F(1)) / (wt_abs(zeta) + WT_MATH(sqrt, (F(1) + zeta * zeta)));
  *c = F(1) / WT_MATH(sqrt, (F(1) + t * t));
  *s = *c * t;
}
// Eigenvectors (columns of q) and eigenvalues of the symmetric part of a.
template <class F, int N>
WT_FN void wt_eig(const F* a, F* q, F* d) {
  F m[N * N];
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) m[i * N + j] = F(0.5) * (a[i * N + j] + a[j * N + i]);
  wt_identity<F, N>(q);
  const F small = wt_epsilon<F>() * F(1e-3) * wt_largest<F, N * N>(m);
  for (int sweep = 0; sweep < 16; ++sweep) {
    bool moved = false;
    for (int i = 0; i < N; ++i)
      for (int j = i + 1; j < N; ++j) {
        const F off = m[i * N + j];
        if (wt_abs(off) <= small) continue;
        moved = true;
        F c, s;
        wt_angle((m[j * N + j] - m[i * N + i]) / (F(2) * off), &c, &s);
        wt_turn<F, N>(m, i, j, c, s);
        for (int k = 0; k < N; ++k) {
          const F x = m[i * N + k], y = m[j * N + k];
          m[i * N + k] = c * x - s * y;
          m[j * N + k] = s * x + c * y;
        }
        wt_turn<F, N>(q, i, j, c, s);
      }
    if (!moved) break;
  }
  for (int i = 0; i < N; ++i) d[i] = m[i * N + i];
  for (int p = 0; p < N; ++p)
    for (int k = p + 1; k < N; ++k)
      if (d[k] < d[p]) {
        const F t = d[p];
        d[p] = d[k];
        d[k] = t;
        wt_turn<F, N>(q, p, k, F(0), F(-1));
      }
}
// One-sided Jacobi: v rotates the columns of b = a v until they are orthogonal, longest first.
template <class F, int N>
WT_FN void wt_orthogonal_columns(F* b, F* v) {
  wt_identity<F, N>(v);
  for (int sweep = 0; sweep < 16; ++sweep) {
    bool moved = false;
    for (int p = 0; p < N; ++p)
      for (int q = p + 1; q < N; ++q) {
        const F x = wt_inner<F, N>(b + p, b + p, N), y = wt_inner<F, N>(b + q, b + q, N);
        const F g = wt_inner<F, N>(b + p, b + q, N);
        if (g * g <= wt_epsilon<F>() * wt_epsilon<F>() * x * y || g == F(0)) continue;
        moved = true;
        F c, s;
        wt_angle((y - x) / (F(2) * g), &c, &s);
        wt_turn<F, N>(b, p, q, c, s);
        wt_turn<F, N>(v, p, q, c, s);
      }
    if (!moved) break;
  }
  for (int p = 0; p < N; ++p)
    for (int q = p + 1; q < N; ++q)
      if (wt_inner<F, N>(b + q, b + q, N) > wt_inner<F, N>(b + p, b + p, N)) {
        wt_turn<F, N>(b, p, q, F(0), F(-1));
        wt_turn<F, N>(v, p, q, F(0), F(-1));
      }
}
// A unit vector at right angles to the unit vector u.
template <class F>
WT_FN void wt_across(const F* u, F* out) {
  const int k = wt_abs(u[1]) <= wt_abs(u[0]) && wt_abs(u[1]) <= wt_abs(u[2]) ? 1
                : wt_abs(u[2]) <= wt_abs(u[0])                               ? 2
                                                                             : 0;
  for (int i = 0; i < 3; ++i) out[i] = (i == k ? F(1) : F(0)) - u[k] * u[i];
  const F l = WT_MATH(sqrt, (wt_inner<F, 3>(out, out, 1)));
  for (int i = 0; i < 3; ++i) out[i] /= l;
}
// Orthonormal vectors u of determinant 1 whose first k span the first k columns of b, and r with
// b = u r; what is below the diagonal of r is 0.
template <class F>
WT_FN void wt_orthonormal(const F* b, F* u, F* r) {
  F c[3][3], e[3][3];
  const F scale = wt_largest<F, 9>(b), small = wt_epsilon<F>();
  for (int i = 0; i < 9; ++i) {
    c[i % 3][i / 3] = scale > F(0) ? b[i] / scale : F(0);
    r[i] = F(0);
  }
  const F l = WT_MATH(sqrt, (wt_inner<F, 3>(c[0], c[0], 1)));
  for (int i = 0; i < 3; ++i) e[0][i] = l > small ? c[0][i] / l : i == 0 ? F(1) : F(0);
  F x[3], g = F(0);
  for (int i = 0; i < 3; ++i) x[i] = c[1][i];
  for (int k = 0; k < 2; ++k) {
    const F h = wt_inner<F, 3>(e[0], x, 1);
    for (int i = 0; i < 3; ++i) x[i] -= h * e[0][i];
    g += h;
  }
  const F m = WT_MATH(sqrt, (wt_inner<F, 3>(x, x, 1)));
  if (m > small) {
    for (int i = 0; i < 3; ++i) e[1][i] = x[i] / m;
  } else {
    wt_across(e[0], e[1]);
    const F sign = wt_inner<F, 3>(e[1], x, 1) < F(0) ? F(-1) : F(1);
    for (int i = 0; i < 3; ++i) e[1][i] *= sign;
  }
  for (int i = 0; i < 3; ++i)
    e[2][i] = e[0][(i + 1) % 3] * e[1][(i + 2) % 3] - e[0][(i + 2) % 3] * e[1][(i + 1) % 3];
  r[0] = wt_inner<F, 3>(e[0], c[0], 1);
  r[1] = g;
  r[4] = wt_inner<F, 3>(e[1], x, 1);
  for (int k = 0; k < 3; ++k) r[k * 3 + 2] = wt_inner<F, 3>(e[k], c[2], 1);
  for (int i = 0; i < 9; ++i) {
    u[i] = e[i % 3][i / 3];
    r[i] *= scale;
  }
}
template <class F>
WT_FN void wt_svd3(const F* a, F* u, F* s, F* v) {
  F b[9], r[9];
  const F m = wt_largest<F, 9>(a);
  for (int i = 0; i < 9; ++i) b[i] = m > F(0) ? a[i] / m : F(0);
  wt_orthogonal_columns<F, 3>(b, v);
  wt_orthonormal(b, u, r);
  for (int i = 0; i < 3; ++i) s[i] = m * r[i * 4];
}
template <class F>
WT_FN void wt_svd2(const F* a, F* u, F* s, F* v) {
  F b[4];
  const F m = wt_largest<F, 4>(a);
  for (int i = 0; i < 4; ++i) b[i] = m > F(0) ? a[i] / m : F(0);
  wt_orthogonal_columns<F, 2>(b, v);
  const F l = WT_MATH(sqrt, (b[0] * b[0] + b[2] * b[2]));
  const F x = l > F(0) ? b[0] / l : F(1), y = l > F(0) ? b[2] / l : F(0);
  const F d = x * b[3] - y * b[1], e = d < F(0) ? F(-1) : F(1);
  u[0] = x; u[1] = -y * e; u[2] = y; u[3] = x * e;
  s[0] = m * l; s[1] = m * d * e;
}
// Solves a x = b for M columns; returns the determinant of a.
template <class F, int N, int M>
WT_FN F wt_solve(const F* a, const F* b, F* x) {
  F m[N * N], det = F(1);
  for (int i = 0; i < N * N; ++i) m[i] = a[i];
  for (int i = 0; i < N * M; ++i) x[i] = b[i];
  for (int k = 0; k < N; ++k) {
    int best = k;
    for (int i = k + 1; i < N; ++i) best = wt_abs(m[i * N + k]) > wt_abs(m[best * N + k]) ? i : best;
    if (best != k) {
      for (int j = 0; j < N; ++j) { const F t = m[k * N + j]; m[k * N + j] = m[best * N + j]; m[best * N + j] = t; }
      for (int j = 0; j < M; ++j) { const F t = x[k * M + j]; x[k * M + j] = x[best * M + j]; x[best * M + j] = t; }
      det = -det;
    }
    det *= m[k * N + k];
    for (int i = k + 1; i < N; ++i) {
      const F f = m[i * N + k] / m[k * N + k];
      for (int j = k; j < N; ++j) m[i * N + j] -= f * m[k * N + j];
      for (int j = 0; j < M; ++j) x[i * M + j] -= f * x[k * M + j];
    }
  }
  for (int k = N - 1; k >= 0; --k)
    for (int j = 0; j < M; ++j) {
      F s = x[k * M + j];
      for (int i = k + 1; i < N; ++i) s -= m[k * N + i] * x[i * M + j];
      x[k * M + j] = s / m[k * N + k];
    }
  return det;
}
template <class F, int N>
WT_FN void wt_inverse(const F* a, F* x) {
  F one[N * N];
  wt_identity<F, N>(one);
  const F det = wt_solve<F, N, N>(a, one, x);
  if (det == F(0) || det != det)
    for (int i = 0; i < N * N; ++i) x[i] = F(0);
}
template <class F, int N>
WT_FN F wt_determinant(const F* a) {
  F m[N * N], det = F(1);
  for (int i = 0; i < N * N; ++i) m[i] = a[i];
  for (int k = 0; k < N; ++k) {
    int best = k;
    for (int i = k + 1; i < N; ++i) best = wt_abs(m[i * N + k]) > wt_abs(m[best * N + k]) ? i : best;
    const F pivot = m[best * N + k];
    if (pivot == F(0)) return F(0);
    for (int j = k; j < N && best != k; ++j) {
      const F t = m[k * N + j]; m[k * N + j] = m[best * N + j]; m[best * N + j] = t;
    }
    det *= best == k ? pivot : -pivot;
    for (int i = k + 1; i < N; ++i) {
      const F f = m[i * N + k] / pivot;
      for (int j = k; j < N; ++j) m[i * N + j] -= f * m[k * N + j];
    }
  }
  return det;
}
template <class F, int N>
WT_FN void wt_cofactors(const F* a, F* c) {
  F m[(N - 1) * (N - 1)];
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) {
      int at = 0;
      for (int k = 0; k < N * N; ++k)
        if (k / N != i && k % N != j) m[at++] = a[k];
      const F d = wt_determinant<F, N - 1>(m);
      c[i * N + j] = (i + j) % 2 == 0 ? d : -d;
    }
}
// Lower factor of the symmetric part of a.
template <class F, int N>
WT_FN void wt_cholesky(const F* a, F* l) {
  for (int i = 0; i < N * N; ++i) l[i] = F(0);
  for (int j = 0; j < N; ++j)
    for (int i = j; i < N; ++i) {
      F s = F(0.5) * (a[i * N + j] + a[j * N + i]);
      for (int k = 0; k < j; ++k) s -= l[i * N + k] * l[j * N + k];
      l[i * N + j] = i == j ? WT_MATH(sqrt, s) : s / l[j * N + j];
    }
}
// Unit lower factor and pivots of the symmetric part of a.
template <class F, int N>
WT_FN void wt_ldlt(const F* a, F* l, F* d) {
  wt_identity<F, N>(l);
  for (int j = 0; j < N; ++j)
    for (int i = j; i < N; ++i) {
      F s = F(0.5) * (a[i * N + j] + a[j * N + i]);
      for (int k = 0; k < j; ++k) s -= l[i * N + k] * l[j * N + k] * d[k];
      if (i == j) d[j] = s; else l[i * N + j] = s / d[j];
    }
}
template <class F, int N>
WT_FN void wt_cholesky_solve(const F* l, const F* b, F* x) {
  for (int i = 0; i < N; ++i) {
    F s = b[i];
    for (int k = 0; k < i; ++k) s -= l[i * N + k] * x[k];
    x[i] = s / l[i * N + i];
  }
  for (int i = N - 1; i >= 0; --i) {
    F s = x[i];
    for (int k = i + 1; k < N; ++k) s -= l[k * N + i] * x[k];
    x[i] = s / l[i * N + i];
  }
}
// Reciprocals of the gaps (sums) of the numbers in s, 0 where rounding decides.
template <class F, int N>
WT_FN void wt_gaps(const F* s, F* r) {
  const F small = F(8) * wt_epsilon<F>() * wt_largest<F, N>(s);
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) {
      const F g = s[j] - s[i];
      r[i * N + j] = wt_abs(g) > small ? F(1) / g : F(0);
    }
}
template <class F, int N>
WT_FN void wt_sums(const F* s, F* r) {
  const F small = F(8) * wt_epsilon<F>() * wt_largest<F, N>(s);
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) {
      const F g = s[j] + s[i];
      r[i * N + j] = i != j && wt_abs(g) > small ? F(1) / g : F(0);
    }
}
)wt"
