# SPDX-License-Identifier: Apache-2.0
# op_kernels.py: kernels that the op tests share, each with the same computation in PyTorch.
import torch
import warp_torch as wt


@wt.kernel
def axpy(a: float, x: wt.array(dtype=float), y: wt.array(dtype=float), out: wt.array(dtype=float)):
    i = wt.tid()
    out[i] = a * x[i] * y[i]


@wt.kernel
def waves(
    a: wt.float64,
    x: wt.array(dtype=wt.float64),
    y: wt.array(dtype=wt.float64),
    s: wt.array(dtype=wt.float64),
    d: wt.array(dtype=wt.float64),
):
    i = wt.tid()
    s[i] = wt.sin(x[i]) * y[i] * a
    d[i] = wt.exp(y[i]) - x[i] * x[i]


def waves_torch(a, x, y):
    return torch.sin(x) * y * a, torch.exp(y) - x * x


@wt.kernel
def turn(
    m: wt.array(dtype=wt.mat33d),
    x: wt.array(dtype=wt.vec3d),
    y: wt.array(dtype=wt.vec3d),
    energy: wt.array(dtype=wt.float64),
):
    i = wt.tid()
    v = m[i] * x[i]
    y[i] = v
    wt.atomic_add(energy, 0, wt.dot(v, v))


def turn_torch(m, x):
    v = (m @ x[..., None])[..., 0]
    return v, (v * v).sum()[None]


@wt.kernel
def update(x: wt.array(dtype=wt.float64), s: wt.array(dtype=wt.float64)):
    i = wt.tid()
    s[i] = s[i] * s[i] + x[i]


def update_torch(x, s):
    return s * s + x


@wt.kernel
def iterate(x: wt.array(dtype=wt.float64), n: int, s: wt.array(dtype=wt.float64)):
    i = wt.tid()
    for k in range(n):
        s[i] = wt.sin(s[i]) * x[i]


def iterate_torch(x, n, s):
    for _ in range(n):
        s = torch.sin(s) * x
    return s


@wt.kernel
def drift(g: wt.vec3d, x: wt.array(dtype=wt.vec3d), dt: wt.float64, y: wt.array(dtype=wt.vec3d)):
    i = wt.tid()
    y[i] = x[i] + g * (dt * wt.length(x[i]))


def drift_torch(g, x, dt):
    return x + g * (dt * x.norm(dim=-1, keepdim=True))


@wt.kernel
def grid(x: wt.array2d(dtype=float), w: wt.array(dtype=float), y: wt.array2d(dtype=float)):
    i, j = wt.tid()
    y[i, j] = x[i, j] * w[j]


@wt.kernel
def neighbours(x: wt.array(dtype=wt.float64), y: wt.array(dtype=wt.float64)):
    i = wt.tid()
    y[i] = x[i] * x[i + 1]


def neighbours_torch(x):
    return x[:-1] * x[1:]


@wt.kernel
def add_neighbours(x: wt.array(dtype=wt.float64), y: wt.array(dtype=wt.float64)):
    i = wt.tid()
    wt.atomic_add(y, i, x[i] * x[i + 1])


@wt.kernel
def label(x: wt.array(dtype=float), y: wt.array(dtype=float), sign: wt.array(dtype=int)):
    i = wt.tid()
    y[i] = x[i] * x[i]
    if x[i] > 0.0:
        sign[i] = 1


@wt.kernel
def small(n: wt.int8, x: wt.array(dtype=float), y: wt.array(dtype=float)):
    i = wt.tid()
    y[i] = x[i] * float(n)


@wt.kernel
def scale_by(
    w: wt.float64,
    x: wt.array(dtype=wt.float64),
    z: wt.array(dtype=wt.float64),
    y: wt.array(dtype=wt.float64),
):
    i = wt.tid()
    y[i] = w * x[i] + z[i]


@wt.kernel
def shift_by(
    w: wt.float64,
    x: wt.array(dtype=wt.float64),
    z: wt.array(dtype=wt.float64),
    y: wt.array(dtype=wt.float64),
):
    i = wt.tid()
    y[i] = w + x[i] * z[i]


@wt.kernel
def unbounded(x: wt.array(dtype=float), y: wt.array(dtype=float)):
    i = wt.tid()
    y[i] = 1.0
    while y[i] < 8.0:
        y[i] = y[i] * 2.0


@wt.kernel
def pairs(x: wt.array(dtype=wt.float64), y: wt.array(dtype=wt.float64)):
    i = wt.tid()
    y[i // 2] += x[i] * x[i]


@wt.kernel
def pivot(
    x: wt.array(dtype=wt.float64),
    w: wt.array(dtype=wt.float64),
    b: wt.array(dtype=wt.float64),
    y: wt.array(dtype=wt.float64),
):
    i = wt.tid()
    if x[i] > 0.0:
        y[i] = x[i] * w[0] + w[1] * x[0]
    else:
        y[i] = b[i] * x[i]
    y[i] = y[i] * w[0] + b[0]


def pivot_torch(x, w, b, y):
    y = torch.where(x > 0, x * w[0] + w[1] * x[0], b * x)
    return y * w[0] + b[0]


@wt.kernel
def overwrite(x: wt.array(dtype=wt.vec3d), y: wt.array(dtype=wt.vec3d)):
    i = wt.tid()
    y[i] = x[i]
    y[i] = wt.cross(x[i], x[0]) * 2.0


def rand(*shape, grad=False, dtype=torch.float64, seed=0):
    g = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, dtype=dtype, generator=g).requires_grad_(grad)
