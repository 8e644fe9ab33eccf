# SPDX-License-Identifier: Apache-2.0
# rollout_floor.py: the two-link arm by hand, as bench_rollout.py's yardstick: C++ and CUDA.
"""Forward and backward of the rollout, written out. States are stored on the way forward."""

import ctypes
import os
import pathlib
import subprocess
import tempfile

import torch

STEP = r"""
static constexpr float kG = 9.81f, kDamping = 0.1f;
struct State { float q1, q2, v1, v2; };

WT_FLOOR State step(State s, float u1, float u2, float dt) {
  float c2 = cosf(s.q2), s2 = sinf(s.q2);
  float m11 = 3.0f + 2.0f * c2, m12 = 1.0f + c2;
  float g2 = kG * cosf(s.q1 + s.q2), g1 = 2.0f * kG * cosf(s.q1) + g2;
  float h1 = -s2 * (2.0f * s.v1 * s.v2 + s.v2 * s.v2), h2 = s2 * s.v1 * s.v1;
  float r1 = u1 - h1 - g1 - kDamping * s.v1, r2 = u2 - h2 - g2 - kDamping * s.v2;
  float inv = 1.0f / (m11 - m12 * m12);
  float a1 = (r1 - m12 * r2) * inv, a2 = (m11 * r2 - m12 * r1) * inv;
  s.v1 += dt * a1; s.v2 += dt * a2;
  s.q1 += dt * s.v1; s.q2 += dt * s.v2;
  return s;
}

// d: adjoint of the state after the step; returns that of the state before, and of the torques.
WT_FLOOR State step_back(State s, float u1, float u2, float dt, State d, float* du1, float* du2) {
  float c2 = cosf(s.q2), s2 = sinf(s.q2);
  float m11 = 3.0f + 2.0f * c2, m12 = 1.0f + c2;
  float g2 = kG * cosf(s.q1 + s.q2), g1 = 2.0f * kG * cosf(s.q1) + g2;
  float w = 2.0f * s.v1 * s.v2 + s.v2 * s.v2;
  float r1 = u1 + s2 * w - g1 - kDamping * s.v1;
  float r2 = u2 - s2 * s.v1 * s.v1 - g2 - kDamping * s.v2;
  float inv = 1.0f / (m11 - m12 * m12);
  float n1 = r1 - m12 * r2, n2 = m11 * r2 - m12 * r1;
  float dv1 = d.v1 + dt * d.q1, dv2 = d.v2 + dt * d.q2;
  float da1 = dt * dv1, da2 = dt * dv2;
  float dn1 = da1 * inv, dn2 = da2 * inv;
  float dinv = da1 * n1 + da2 * n2;
  float ddet = -dinv * inv * inv;
  float dr1 = dn1 - m12 * dn2, dr2 = -m12 * dn1 + m11 * dn2;
  float dm11 = ddet + dn2 * r2;
  float dm12 = -2.0f * m12 * ddet - dn1 * r2 - dn2 * r1;
  *du1 = dr1; *du2 = dr2;
  float dg1 = -dr1, dg2 = -dr2 - dr1;
  float ds2 = dr1 * w - dr2 * s.v1 * s.v1;
  float dc2 = 2.0f * dm11 + dm12;
  float dsum = -kG * sinf(s.q1 + s.q2) * dg2;
  State p;
  p.q1 = d.q1 + dsum - 2.0f * kG * sinf(s.q1) * dg1;
  p.q2 = d.q2 + dsum - s2 * dc2 + c2 * ds2;
  p.v1 = dv1 - kDamping * dr1 + dr1 * s2 * 2.0f * s.v2 - dr2 * s2 * 2.0f * s.v1;
  p.v2 = dv2 - kDamping * dr2 + dr1 * s2 * (2.0f * s.v1 + 2.0f * s.v2);
  return p;
}
"""

CPP = (
    r"""
#include <cmath>
#include <thread>
#include <vector>
#define WT_FLOOR static inline
"""
    + STEP
    + r"""
static void arms(long begin, long end, long n, long steps, const float* u, float* du,
                 State* states, float dt, double* loss) {
  double sum = 0;
  for (long i = begin; i < end; ++i) {
    State s = {0, 0, 0, 0};
    for (long t = 0; t < steps; ++t) {
      states[t * n + i] = s;
      const float* x = u + 2 * (t * n + i);
      s = step(s, x[0], x[1], dt);
    }
    State d = {2 * (s.q1 - 1), 2 * (s.q2 - 1), 0.2f * s.v1, 0.2f * s.v2};
    sum += (s.q1 - 1) * (s.q1 - 1) + (s.q2 - 1) * (s.q2 - 1) + 0.1 * (s.v1 * s.v1 + s.v2 * s.v2);
    for (long t = steps; t-- > 0;) {
      const float* x = u + 2 * (t * n + i);
      float* dx = du + 2 * (t * n + i);
      d = step_back(states[t * n + i], x[0], x[1], dt, d, dx, dx + 1);
    }
  }
  *loss = sum;
}

extern "C" double arm_floor(long n, long steps, const float* u, float* du, float* states,
                            float dt, long threads) {
  std::vector<std::thread> pool;
  std::vector<double> loss(threads);
  for (long k = 0; k < threads; ++k)
    pool.emplace_back(arms, n * k / threads, n * (k + 1) / threads, n, steps, u, du,
                      reinterpret_cast<State*>(states), dt, &loss[k]);
  double sum = 0;
  for (long k = 0; k < threads; ++k) {
    pool[k].join();
    sum += loss[k];
  }
  return sum;
}
"""
)

CUDA = (
    r"""
#define WT_FLOOR static __device__ __forceinline__
"""
    + STEP
    + r"""
extern "C" __global__ void arm_forward(int n, int steps, const float2* __restrict__ u,
                                       float4* __restrict__ states, float2* __restrict__ q,
                                       float2* __restrict__ v, double step_time) {
  const float dt = float(step_time);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  State s = {0, 0, 0, 0};
  for (int t = 0; t < steps; ++t) {
    const long long at = (long long)t * n + i;
    states[at] = make_float4(s.q1, s.q2, s.v1, s.v2);
    float2 x = u[at];
    s = step(s, x.x, x.y, dt);
  }
  q[i] = make_float2(s.q1, s.q2);
  v[i] = make_float2(s.v1, s.v2);
}

extern "C" __global__ void arm_backward(int n, int steps, const float2* __restrict__ u,
                                        const float4* __restrict__ states,
                                        const float2* __restrict__ q, const float2* __restrict__ v,
                                        float2* __restrict__ du, double step_time) {
  const float dt = float(step_time);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  State d = {2 * (q[i].x - 1), 2 * (q[i].y - 1), 0.2f * v[i].x, 0.2f * v[i].y};
  for (int t = steps - 1; t >= 0; --t) {
    const long long at = (long long)t * n + i;
    float4 s = states[at];
    float2 x = u[at], dx;
    d = step_back({s.x, s.y, s.z, s.w}, x.x, x.y, dt, d, &dx.x, &dx.y);
    du[at] = dx;
  }
}
"""
)


class CppFloor:
    """The C++ one, built with the compiler that warp_torch would use."""

    def __init__(self, n, steps, dt, threads):
        folder = pathlib.Path(tempfile.mkdtemp())
        source, library = folder / "floor.cpp", folder / "floor.so"
        source.write_text(CPP)
        compiler = os.environ.get("CXX", "c++")
        flags = ["-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", "-pthread"]
        subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
        self._run = ctypes.CDLL(str(library)).arm_floor
        self._run.restype = ctypes.c_double
        pointer = ctypes.c_void_p
        size = ctypes.c_long
        self._run.argtypes = [size, size, pointer, pointer, pointer, ctypes.c_float, size]
        self._states = torch.empty(steps, n, 4)
        self.grad = torch.empty(steps, n, 2)
        self._size = (n, steps)
        self._dt, self._threads = dt, threads

    def __call__(self, u):
        pointers = (u.data_ptr(), self.grad.data_ptr(), self._states.data_ptr())
        return self._run(*self._size, *pointers, self._dt, self._threads)


class CudaFloor:
    """The CUDA one, through NVRTC, which hands a Python float over as a double."""

    def __init__(self, n, steps, dt, block=128):
        self._forward = torch.cuda._compile_kernel(CUDA, "arm_forward")
        self._backward = torch.cuda._compile_kernel(CUDA, "arm_backward")
        self._states = torch.empty(steps, n, 4, device="cuda")
        self._q, self._v = torch.empty(2, n, 2, device="cuda").unbind()
        self.grad = torch.empty(steps, n, 2, device="cuda")
        self._grid, self._block = ((n + block - 1) // block, 1, 1), (block, 1, 1)
        self._size, self._dt = (n, steps), dt

    def __call__(self, u):
        n, steps = self._size
        out = [self._states, self._q, self._v]
        self._forward(self._grid, self._block, [n, steps, u, *out, self._dt])
        self._backward(self._grid, self._block, [n, steps, u, *out, self.grad, self._dt])
