# SPDX-License-Identifier: Apache-2.0
# test_array_variables.py: variables that stand for one array and then for another.
import numpy as np
import pytest
import warp_torch as wp

from tests.gradients.finite_difference import check, zeros

F = wp.float64
pytestmark = pytest.mark.usefixtures("device")


@wp.kernel
def squares(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def swapped(x: wp.array(dtype=F), y: wp.array(dtype=F), loss: wp.array(dtype=F), n: int):
    i = wp.tid()
    a = x
    b = y
    s = F(0.0)
    for k in range(n):
        s += a[i] * a[i] * F(k + 1) + wp.sin(b[i])
        b[i] = s * F(0.5) + a[i]
        a, b = b, a
    loss[0] += s + a[i]


@pytest.mark.parametrize("n", [0, 1, 4, 5])
def test_swapped_in_a_loop(n):
    def run(x, y):
        a, b, loss = zeros(3), zeros(3), zeros(1)
        wp.launch(squares, dim=3, inputs=[x, a])
        wp.launch(squares, dim=3, inputs=[y, b])
        wp.launch(swapped, dim=3, inputs=[a, b, loss, n])
        return loss

    check(run, [0.5, 0.6, -0.7], [0.3, -0.2, 0.1])


@wp.kernel
def chosen(
    x: wp.array(dtype=F), y: wp.array(dtype=F), z: wp.array(dtype=F), loss: wp.array(dtype=F)
):
    i = wp.tid()
    a = x
    s = F(0.1)
    k = 0
    while s < F(3.0) and k < 20:
        s += a[i] * a[i] * F(k + 1)
        k += 1
        if k % 3 == 1:
            a = y
            continue
        if s > F(2.5):
            break
        for _ in range(k):
            if s > F(1.0):
                a = z
    loss[0] += s * a[i]


def test_set_in_branches_of_nested_loops():
    def run(x, y, z):
        loss = zeros(1)
        wp.launch(chosen, dim=3, inputs=[x, y, z, loss])
        return loss

    check(run, [0.5, 0.6, -0.7], [0.3, -0.2, 0.1], [0.9, 0.8, 0.7])


@wp.kernel
def buffers(both: wp.array(dtype=F, ndim=2), loss: wp.array(dtype=F), n: int):
    now = both[0]
    after = both[1]
    for _ in range(n):
        for j in range(4):
            left = wp.max(j - 1, 0)
            after[j] = now[j] * now[j] * F(0.5) + now[left]
        before = now
        now = after
        after = before
    for j in range(4):
        loss[0] += now[j] * F(j + 1)


@wp.kernel
def first_row(x: wp.array(dtype=F), both: wp.array(dtype=F, ndim=2)):
    i = wp.tid()
    both[0, i] = x[i]


def test_rows_that_take_turns():
    def run(x):
        both, loss = zeros((2, 4)), zeros(1)
        wp.launch(first_row, dim=4, inputs=[x, both])
        wp.launch(buffers, dim=1, inputs=[both, loss, 5])
        return loss

    check(run, np.random.default_rng(0).uniform(0.2, 0.6, 4))
