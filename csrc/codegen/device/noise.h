// SPDX-License-Identifier: Apache-2.0
// noise.h: gradient noise on a lattice (Perlin 2002) with its first and second derivatives, and the
// curl of such fields. Sums, products and square roots only, so that every device gives the same
// bits.
R"wt(
template <class F, int N>
WT_FN void wt_lattice(u32 state, const i32* at, const i32* period, F* g) {
  const u32 primes[4] = {73856093u, 19349663u, 83492791u, 10000019u};
  for (int d = 0; d < N; ++d) {
    i32 i = at[d];
    if (period && period[d] > 0) i = (i % period[d] + period[d]) % period[d];
    state += u32(i) * primes[d & 3];
  }
  F l = F(0);
  for (int d = 0; d < N; ++d) {
    state = wt_pcg(state);
    g[d] = F(2) * F(wt_unit(state)) - F(1);
    l += g[d] * g[d];
  }
  l = N > 1 && l > F(0) ? F(1) / WT_MATH(sqrt, l) : F(1);
  for (int d = 0; d < N; ++d) g[d] *= l;
}
// Value, and where asked for the gradient and the Hessian, at x.
template <class F, int N>
WT_LARGE F wt_noise(u32 state, const F* x, const i32* period, F* grad, F* hess) {
  i32 cell[N];
  F t[N], w[N][2], w1[N][2], w2[N][2];
  for (int d = 0; d < N; ++d) {
    const F low = WT_MATH(floor, (x[d]));
    cell[d] = i32(low);
    const F u = t[d] = x[d] - low;
    w[d][1] = u * u * u * (u * (u * F(6) - F(15)) + F(10));
    w1[d][1] = u * u * (u * (u * F(30) - F(60)) + F(30));
    w2[d][1] = u * (u * (u * F(120) - F(180)) + F(60));
    w[d][0] = F(1) - w[d][1];
    w1[d][0] = -w1[d][1];
    w2[d][0] = -w2[d][1];
  }
  F sum = F(0);
  for (int i = 0; grad && i < N; ++i) grad[i] = F(0);
  for (int i = 0; hess && i < N * N; ++i) hess[i] = F(0);
  for (int c = 0; c < (1 << N); ++c) {
    i32 at[N];
    F g[N], dot = F(0), all = F(1);
    for (int d = 0; d < N; ++d) at[d] = cell[d] + ((c >> d) & 1);
    wt_lattice<F, N>(state, at, period, g);
    for (int d = 0; d < N; ++d) {
      dot += g[d] * (t[d] - F((c >> d) & 1));
      all *= w[d][(c >> d) & 1];
    }
    sum += all * dot;
    if (!grad && !hess) continue;
    F first[N];
    for (int k = 0; k < N; ++k) {
      first[k] = F(1);
      for (int d = 0; d < N; ++d) first[k] *= (d == k ? w1 : w)[d][(c >> d) & 1];
      if (grad) grad[k] += first[k] * dot + all * g[k];
    }
    for (int k = 0; hess && k < N; ++k)
      for (int m = 0; m < N; ++m) {
        F second = F(1);
        for (int d = 0; d < N; ++d)
          second *= (k == m && d == k ? w2 : d == k || d == m ? w1 : w)[d][(c >> d) & 1];
        hess[k * N + m] += second * dot + first[k] * g[m] + first[m] * g[k];
      }
  }
  return sum;
}
template <class F, int N>
WT_FN F wt_noise_at(u32 state, const F* x, const i32* period) {
  return wt_noise<F, N>(state, x, period, (F*)0, (F*)0);
}
// Curl of one field (2 dimensions) or of three, the fourth coordinate being time. jacobian, where
// asked for, has a column for each of x, then lacunarity and gain.
template <class F, int N>
WT_LARGE void wt_curl(u32 state, const F* x, u32 octaves, F lacunarity, F gain, F* value, F* jacobian) {
  constexpr int rows = N == 2 ? 2 : 3, columns = N + 2;
  for (int i = 0; value && i < rows; ++i) value[i] = F(0);
  for (int i = 0; jacobian && i < rows * columns; ++i) jacobian[i] = F(0);
  F amplitude = F(1), frequency = F(1), d_amplitude = F(0), d_frequency = F(0);
  for (u32 o = 0; o < octaves; ++o) {
    F y[N], grad[3][N], hess[3][N * N];
    for (int d = 0; d < N; ++d) y[d] = x[d] * frequency;
    for (int f = 0; f < (N == 2 ? 1 : 3); ++f) {
      const u32 field = f == 0 ? state : wt_pcg(state + u32(f) * 2654435769u);
      wt_noise<F, N>(field, y, (const i32*)0, grad[f], jacobian ? hess[f] : (F*)0);
    }
    for (int i = 0; i < rows; ++i) {
      // Component i is one derivative less another: of field a by p, of field b by q.
      const int p = N == 2 ? 0 : (i + 1) % 3, q = N == 2 ? 1 : (i + 2) % 3;
      const int a = N == 2 ? 0 : q, b = N == 2 ? 0 : p;
      const F plus = N == 2 && i == 0 ? F(0) : F(1), minus = N == 2 && i == 1 ? F(0) : F(1);
      const F c = plus * grad[a][p] - minus * grad[b][q];
      if (value) value[i] += amplitude * c;
      if (!jacobian) continue;
      F* row = jacobian + i * columns;
      for (int d = 0; d < N; ++d) {
        const F h = plus * hess[a][p * N + d] - minus * hess[b][q * N + d];
        row[d] += amplitude * frequency * h;
        row[N] += amplitude * d_frequency * x[d] * h;
      }
      row[N + 1] += d_amplitude * c;
    }
    d_amplitude = d_amplitude * gain + amplitude;
    d_frequency = d_frequency * lacunarity + frequency;
    amplitude *= gain;
    frequency *= lacunarity;
  }
}
)wt"
