# SPDX-License-Identifier: Apache-2.0
# test_loop_memory.py: gradients of loops that read and add to one element again and again, and of
# many threads that add to one element.
import numpy as np
import pytest
import torch
import warp_torch as wp

ONE = wp.array(dtype=float)
VEC3 = wp.array(dtype=wp.vec3)
MAT33 = wp.array(dtype=wp.mat33)


@wp.kernel
def pairs(p: VEC3, q: VEC3, y: VEC3):
    i = wp.tid()
    a = wp.vec3(0.0)
    for j in range(q.shape[0]):
        d = q[j] - p[i]
        a += d * (1.0 / wp.pow(wp.dot(d, d) + 0.1, 1.5))
    y[i] = a


@wp.kernel
def own_factor(x: ONE, w: ONE, n: int, far: int, y: ONE):
    i = wp.tid()
    s = w[i]
    for k in range(n):
        s = wp.sin(s * x[i + far])
    y[i] = s


@wp.kernel
def triangle(x: ONE, w: ONE, y: ONE):
    i = wp.tid()
    s = 0.0
    for j in range(i):
        for k in range(j):
            s += x[j] * w[k] * x[i]
    y[i] = s


@wp.kernel
def squares(a: MAT33, s: ONE, y: ONE):
    i = wp.tid()
    m = a[i]
    y[i] = s[i] * wp.trace(wp.transpose(m) * m)


def gradients(kernel, dim, inputs, output):
    with wp.Tape() as tape:
        wp.launch(kernel, dim, inputs=inputs)
    tape.backward(grads={output: wp.ones_like(output, requires_grad=False)})
    return [a.grad.numpy() for a in inputs if isinstance(a, wp.array) and a is not output]


def wanted(function, *arrays):
    leaves = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arrays]
    function(*leaves).sum().backward()
    return [x.grad.numpy() for x in leaves]


def floats(rng, *shape, dtype=float):
    host = rng.uniform(0.5, 1.5, size=shape).astype(np.float32)
    return host, wp.array(host, dtype=dtype, requires_grad=True)


def near(got, want):
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-5 * np.abs(w).max())


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("n, m", [(1000, 37), (31, 1)])
def test_all_threads_add_to_one_element_after_the_other(n, m):
    rng = np.random.default_rng(1)
    hp, p = floats(rng, n, 3, dtype=wp.vec3)
    hq, q = floats(rng, m, 3, dtype=wp.vec3)
    y = wp.zeros(n, dtype=wp.vec3, requires_grad=True)

    def forces(tp, tq):
        d = tq[None] - tp[:, None]
        return (d * ((d * d).sum(-1, keepdim=True) + 0.1) ** -1.5).sum(1)

    near(gradients(pairs, n, [p, q, y], y), wanted(forces, hp, hq))


@pytest.mark.usefixtures("device")
def test_an_element_of_the_whole_loop():
    rng = np.random.default_rng(2)
    hx, x = floats(rng, 40)
    hw, w = floats(rng, 40)
    y = wp.zeros(40, dtype=float, requires_grad=True)

    def chain(tx, tw):
        for _ in range(9):
            tw = torch.sin(tw * tx)
        return tw

    near(gradients(own_factor, 40, [x, w, 9, 0, y], y), wanted(chain, hx, hw))


@pytest.mark.usefixtures("device")
def test_a_loop_that_does_not_run_touches_nothing():
    x, w, y = (wp.array([2.0, 3.0], dtype=float, requires_grad=True) for _ in range(3))
    dx, dw = gradients(own_factor, 2, [x, w, 0, 1 << 28, y], y)
    assert dx.tolist() == [0, 0] and dw.tolist() == [1, 1]


@pytest.mark.usefixtures("device")
def test_inner_loops_of_other_lengths_in_each_thread():
    rng = np.random.default_rng(3)
    hx, x = floats(rng, 70)
    hw, w = floats(rng, 70)
    y = wp.zeros(70, dtype=float, requires_grad=True)

    def sums(tx, tw):
        below = torch.cumsum(tw, 0) - tw  # of w[k], k < j
        return tx * (torch.cumsum(tx * below, 0) - tx * below)

    near(gradients(triangle, 70, [x, w, y], y), wanted(sums, hx, hw))


@pytest.mark.usefixtures("device")
def test_large_elements_of_many_threads():
    n = (1 << 18) + 77  # more than launches take in groups, and not a multiple of those
    rng = np.random.default_rng(4)
    ha, a = floats(rng, n, 3, 3, dtype=wp.mat33)
    hs, s = floats(rng, n)
    y = wp.zeros(n, dtype=float, requires_grad=True)
    near(
        gradients(squares, n, [a, s, y], y),
        [2 * hs[:, None, None] * ha, (ha * ha).sum((1, 2))],
    )
