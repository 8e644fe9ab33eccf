# SPDX-License-Identifier: Apache-2.0
# user_code.py: kernels and their callers as a user writes them, for type checkers; test_typing.py runs
# mypy and pyright over it, and Python.
from typing import Any

import numpy as np
import torch
import warp_torch as wp

N = wp.constant(3)


@wp.struct
class State:
    q: wp.vec3
    mass: float
    forces: wp.array[wp.vec3]


@wp.func
def smooth(x: float, width: float) -> float:
    return x * x / (x * x + width)


@wp.func
def two(a: wp.vec3) -> tuple[wp.vec3, float]:
    return wp.normalize(a), wp.length(a)


@wp.func_grad(smooth)
def smooth_gradient(x: float, width: float, adj_ret: float):
    wp.adjoint[x] += adj_ret * 2.0 * x * width / wp.pow(x * x + width, 2.0)


@wp.kernel
def scale(x: wp.array[float], s: float, y: wp.array[float]):
    i = wp.tid()
    y[i] = smooth(s * x[i], 0.1) + wp.sin(x[i]) * wp.max(x[i], 0.0)


@wp.kernel(enable_backward=False)
def fields(grid: wp.array2d[wp.vec3], cells: wp.array3d[int], out: wp.array[wp.float64]):
    i, j = wp.tid()
    v = grid[i, j] * 2.0 + wp.cross(grid[i, j], wp.vec3(0.0, 0.0, 1.0))
    row = grid[i]
    direction, size = two(v - row[0])
    q = wp.quat_from_axis_angle(direction, size)
    w = wp.quat_rotate(q, v)
    w.x += 1.0
    m = wp.mat33(1.0)
    turned = m @ w
    s = 0.0
    for k in range(grid.shape[1]):
        s += turned[k] * float(cells[i, j, k])
    if s > 0.0 and wp.isfinite(s):
        wp.atomic_add(out, i, wp.float64(s) * out[i])
    local = wp.zeros(shape=4, dtype=float)
    local[0] = s


@wp.kernel
def step(state: State, dt: float, out: wp.array[wp.vec3]):
    i = wp.tid()
    rng = wp.rand_init(7, i)
    out[i] = state.q + state.forces[i] * (dt / state.mass) * wp.randf(rng)
    assert out[i].x > -100.0, "escaped"


@wp.kernel
def generic(x: wp.array[Any], y: wp.array[Any]):
    i = wp.tid()
    y[i] = x[i] + x[i]


def main() -> float:
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True, device="cpu")
    y = wp.zeros(3, dtype=float, requires_grad=True, device="cpu")
    tape = wp.Tape()
    with tape:
        wp.launch(scale, dim=3, inputs=[x, 2.0], outputs=[y], device="cpu")
    tape.backward(grads={y: wp.ones_like(y)})
    state = State()
    state.q = wp.vec3(1.0, 2.0, 3.0)
    state.mass = 2.0
    state.forces = wp.zeros(3, dtype=wp.vec3, device="cpu")
    out = wp.empty(3, dtype=wp.vec3, device="cpu")
    wp.launch(step, 3, inputs=[state, 0.1, out], device="cpu")
    op = wp.kernel_op(scale)
    t = torch.ones(3, requires_grad=True)
    op(t, 2.0).sum().backward()
    host = wp.vec3(1.0, 2.0, 3.0) * 2.0 + wp.vec3(1.0)
    values: np.ndarray = x.grad.numpy()
    wp.config.tape_budget = 1 << 20
    wp.config.kernel_cache_dir = None
    total = wp.utils.array_sum(y)
    optimiser = wp.optim.Adam([x], lr=0.1)
    optimiser.step([x.grad])
    with wp.ScopedTimer("step", active=False):
        wp.synchronize()
    return float(values[0]) + host.x + float(total) + smooth(0.5, 0.1) + wp.sin(0.5)


if __name__ == "__main__":
    print(main())
