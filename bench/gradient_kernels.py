# SPDX-License-Identifier: Apache-2.0
# gradient_kernels.py: the ten kernels of bench_gradient_cost.py, one for each way of having values
# that an adjoint needs.
import numpy as np
import warp_torch as wp

VEC3 = wp.array(dtype=wp.vec3)
MAT33 = wp.array(dtype=wp.mat33)
ONE = wp.array(dtype=float)
TWO = wp.array(dtype=float, ndim=2)
INTS = wp.array(dtype=int)
SUMS = {"y": "x.shape[0]", "loss": "1"}


@wp.kernel
def straight_line(x: ONE, w: ONE, y: ONE):
    i = wp.tid()
    a = wp.sin(x[i]) * w[i]
    b = wp.exp(-a * a) / (x[i] * x[i] + 1.0)
    y[i] = wp.sqrt(b + 1.0) * a - b * wp.cos(w[i])


@wp.kernel
def long_loop(x: ONE, w: ONE, y: ONE, steps: int):
    i = wp.tid()
    q = x[i]
    v = w[i]
    for _ in range(steps):
        v = v - 0.01 * wp.sin(q) - 0.001 * v
        q = q + 0.01 * v
    y[i] = q * v


@wp.kernel
def while_loop(x: ONE, w: ONE, y: ONE):
    i = wp.tid()
    e = 0.5 * w[i]
    a = x[i]
    step = 1.0
    while wp.abs(step) > 1.0e-5:  # Kepler's equation
        step = (a - e * wp.sin(a) - x[i]) / (1.0 - e * wp.cos(a))
        a = a - 0.5 * step
    y[i] = wp.sin(a)


@wp.kernel
def in_place_stencil(x: TWO, sweeps: int):
    i = wp.tid()
    n = x.shape[1]
    for _ in range(sweeps):
        for j in range(1, n - 1):
            x[i, j] = 0.5 * x[i, j] + 0.25 * (x[i, j - 1] + x[i, j + 1]) * x[i, j]


@wp.kernel
def scattered(x: ONE, to: INTS, y: ONE, loss: ONE):
    i = wp.tid()
    f = x[i] * x[i]
    wp.atomic_add(y, to[i], f)
    wp.atomic_add(loss, 0, f * x[i])


@wp.kernel
def gathered(x: ONE, to: INTS, y: ONE):
    i = wp.tid()
    d = x[to[i]] - x[i]
    y[i] = d * wp.sqrt(d * d + 1.0)


@wp.kernel
def singular_values(m: MAT33, y: VEC3):
    i = wp.tid()
    u, s, v = wp.svd3(m[i])
    y[i] = u * s + v * s


@wp.kernel
def elastic(f: MAT33, y: ONE):
    i = wp.tid()
    a = f[i]
    j = wp.determinant(a)
    c = wp.transpose(a) * a
    y[i] = wp.trace(c) * wp.pow(wp.abs(j), -0.6666667) + (j - 1.0) * (j - 1.0)


@wp.kernel
def local_array(x: TWO, y: ONE):
    i = wp.tid()
    h = wp.zeros(shape=8, dtype=float)
    for k in range(x.shape[1]):
        h[k % 8] = h[(k + 3) % 8] * 0.9 + wp.sin(x[i, k])
    s = 0.0
    for k in range(8):
        s += h[k] * h[k]
    y[i] = s


@wp.kernel
def all_pairs(p: VEC3, q: VEC3, y: VEC3):
    i = wp.tid()
    a = wp.vec3(0.0)
    for j in range(q.shape[0]):
        d = q[j] - p[i]
        a += d * (1.0 / wp.pow(wp.dot(d, d) + 0.01, 1.5))
    y[i] = a


def cases(scale):
    """{name: (kernel, dim, inputs, number of the argument whose cotangent is ones, shapes of the
    op's results where they do not follow)}; `scale` 1 suits two cores."""
    rng = np.random.default_rng(0)

    def floats(*shape, dtype=float):
        values = rng.uniform(0.5, 1.5, size=shape).astype(np.float32)
        return wp.array(values, dtype=dtype, requires_grad=True)

    def zeros(n, dtype=float):
        return wp.zeros(n, dtype=dtype, requires_grad=True)

    def ints(n, end):
        return wp.array(rng.integers(0, end, size=n).astype(np.int32), dtype=int)

    n, few = (1 << 20) * scale, (1 << 12) * scale
    mid = (1 << 16) * scale
    vec, mat = wp.vec3, wp.mat33
    return {
        "straight line": (straight_line, n, [floats(n), floats(n), zeros(n)], 2),
        "loop of 1000": (long_loop, few, [floats(few), floats(few), zeros(few), 1000], 2),
        "while": (while_loop, mid, [floats(mid), floats(mid), zeros(mid)], 2),
        "in-place stencil": (in_place_stencil, few, [floats(few, 64), 8], 0),
        "scatter": (scattered, n, [floats(n), ints(n, n), zeros(n), zeros(1)], 2, SUMS),
        "gather": (gathered, n, [floats(n), ints(n, n), zeros(n)], 2),
        "svd3": (singular_values, mid, [floats(mid, 3, 3, dtype=mat), zeros(mid, vec)], 1),
        "elastic energy": (elastic, mid * 4, [floats(mid * 4, 3, 3, dtype=mat), zeros(mid * 4)], 1),
        "local array": (local_array, mid, [floats(mid, 32), zeros(mid)], 1),
        "all pairs": (
            all_pairs,
            few,
            [floats(few, 3, dtype=vec), floats(512, 3, dtype=vec), zeros(few, vec)],
            2,
        ),
    }
