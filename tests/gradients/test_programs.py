# SPDX-License-Identifier: Apache-2.0
# test_programs.py: whole programs whose threads change matrices, structs and buffers in place.
import numpy as np
import pytest
import warp_torch as wp

from tests.gradients.finite_difference import check, zeros

F = wp.float64
V3 = wp.vec3d
M33 = wp.mat33d
pytestmark = pytest.mark.usefixtures("device")


@wp.kernel
def weigh(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    loss[0] += x[i] * F(i + 1) + x[i] * x[i]


@wp.kernel
def weigh_rows(x: wp.array(dtype=F, ndim=2), loss: wp.array(dtype=F)):
    i, j = wp.tid()
    loss[0] += x[i, j] * F(i + 2 * j + 1) + x[i, j] * x[i, j]


@wp.kernel
def cholesky(a: wp.array(dtype=F, ndim=2), n: int):
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= a[j, k] * a[j, k]
        a[j, j] = wp.sqrt(s)
        for i in range(j + 1, n):
            t = a[i, j]
            for k in range(j):
                t -= a[i, k] * a[j, k]
            a[i, j] = t / a[j, j]


@wp.kernel
def substitute(a: wp.array(dtype=F, ndim=2), b: wp.array(dtype=F), n: int):
    for i in range(n):
        for j in range(i):
            b[i] -= a[i, j] * b[j]
        b[i] /= a[i, i]
    for r in range(n):
        i = n - 1 - r
        for j in range(n - 1, i, -1):
            b[i] -= a[j, i] * b[j]
        b[i] /= a[i, i]


def test_a_factorisation_in_memory():
    def run(a, b):
        c, d, loss = zeros((4, 4)), zeros(4), zeros(1)
        wp.copy(c, a)
        wp.copy(d, b)
        wp.launch(cholesky, dim=1, inputs=[c, 4])
        wp.launch(substitute, dim=1, inputs=[c, d, 4])
        wp.launch(weigh, dim=4, inputs=[d, loss])
        return loss

    rng = np.random.default_rng(1)
    m = rng.uniform(-1, 1, (4, 4))
    check(run, m @ m.T + 3 * np.eye(4), rng.uniform(-1, 1, 4))


@wp.kernel
def bubbles(a: wp.array(dtype=F), n: int):
    for i in range(n - 1):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                t = a[j]
                a[j] = a[j + 1]
                a[j + 1] = t * F(1.1)


def test_swaps_that_depend_on_values():
    def run(x):
        a, loss = zeros(5), zeros(1)
        wp.copy(a, x)
        wp.launch(bubbles, dim=1, inputs=[a, 5])
        wp.launch(weigh, dim=5, inputs=[a, loss])
        return loss

    check(run, np.random.default_rng(2).uniform(-1, 1, 5))


@wp.kernel
def one_colour(u: wp.array(dtype=F, ndim=2), colour: int):
    i, j = wp.tid()
    if (i + j) % 2 != colour:
        return
    if i == 0 or j == 0 or i == u.shape[0] - 1 or j == u.shape[1] - 1:
        return
    u[i, j] = F(0.25) * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] * u[i, j] + u[i, j + 1])


def test_two_colours_in_turn():
    def run(x):
        u, loss = zeros((4, 5)), zeros(1)
        wp.copy(u, x)
        for _ in range(3):
            wp.launch(one_colour, dim=(4, 5), inputs=[u, 0])
            wp.launch(one_colour, dim=(4, 5), inputs=[u, 1])
        wp.launch(weigh_rows, dim=(4, 5), inputs=[u, loss])
        return loss

    check(run, np.random.default_rng(3).uniform(-1, 1, (4, 5)))


@wp.struct
class Inner:
    a: V3
    m: M33


@wp.struct
class Outer:
    inner: Inner
    w: F


@wp.kernel
def fill(x: wp.array(dtype=F, ndim=2), o: wp.array(dtype=Outer)):
    i, j = wp.tid()
    o[i].inner.a[j] = x[i, j] * x[i, j]
    o[i].inner.m[j, 2 - j] = wp.sin(x[i, j])
    if j == 1:
        o[i].w = x[i, 0] * x[i, 2]


@wp.kernel
def change(o: wp.array(dtype=Outer), loss: wp.array(dtype=F)):
    i = wp.tid()
    t = o[i].inner
    v = t.m * t.a
    o[i].w *= v[0]
    o[i].inner.a = v + t.a
    o[i].inner.m[1] = o[i].inner.a
    o[i].inner.m[0:2, 1] = v.xy
    o[i].inner.a.zx += v.yz
    loss[0] += o[i].w + wp.trace(o[i].inner.m) * v[1] + o[i].inner.m[1, 2] * o[i].inner.a.x


def test_structs_in_structs():
    def run(x):
        o, loss = wp.zeros(3, dtype=Outer, requires_grad=True), zeros(1)
        wp.launch(fill, dim=(3, 3), inputs=[x, o])
        wp.launch(change, dim=3, inputs=[o, loss])
        return loss

    check(run, np.random.default_rng(4).uniform(-1, 1, (3, 3)))
