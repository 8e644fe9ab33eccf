# SPDX-License-Identifier: Apache-2.0
# test_loop_counters.py: `while` loops over an array that they change, with a counter that branches
# move and check, need no stated bound.
import numpy as np
import pytest
import warp_torch as wp

from tests.gradients.finite_difference import check, zeros

F = wp.float64


@wp.kernel
def weigh(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i] * F(i + 1))


@wp.kernel
def insertion_sort(x: wp.array(dtype=F), n: int):
    for a in range(1, n):
        key = x[a]
        b = a - 1
        while b >= 0:
            if x[b] <= key:
                break
            x[b + 1] = x[b]
            b -= 1
        x[b + 1] = key


@wp.kernel
def left_from_the_middle(x: wp.array(dtype=F), n: int):
    k = 0
    while True:
        if k >= n:
            break
        x[k] = x[k] * x[k]
        k += 1


@wp.kernel
def steps_of_two_sizes(x: wp.array(dtype=F), n: int):
    k = 0
    while k < n:
        if x[k] > F(1.0):
            x[k] = wp.sin(x[k])
            k += 2
            continue
        x[k] = x[k] * x[k]
        k += 1


@wp.kernel
def returns_from_it(x: wp.array(dtype=F), n: int):
    k = 0
    while True:
        x[k] = x[k] * x[k] + x[n - 1]
        k += 1
        if k == 3 and x[0] > F(100.0):
            return
        if not (k < n - 1):
            return


KERNELS = [insertion_sort, left_from_the_middle, steps_of_two_sizes, returns_from_it]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.key.split(".")[-1])
def test_loops_that_branches_bound(kernel):
    def run(x):
        loss = zeros(1)
        wp.launch(kernel, 1, inputs=[x, 5])
        wp.launch(weigh, 5, inputs=[x, loss])
        return loss

    check(run, np.array([1.3, 0.2, 0.9, 1.6, 0.4]))


@wp.kernel
def either_way(x: wp.array(dtype=F), n: int):
    k = 0
    while k < n:
        x[k] = x[k] * x[k]
        k += 1
        if x[0] > F(100.0):
            k -= 1


def test_a_counter_that_may_stand_still_is_no_bound():
    x, loss = wp.array([0.5, 2.0], dtype=F, requires_grad=True), zeros(1)
    with wp.Tape(), pytest.raises(wp.GradientError, match="loop_bound") as e:
        wp.launch(either_way, 1, inputs=[x, 2])
        wp.launch(weigh, 2, inputs=[x, loss])
    assert e.value.code == "WT305"
