# SPDX-License-Identifier: Apache-2.0
# test_control_flow.py: gradients through loops, branches and returns.
import numpy as np
import pytest
import warp_torch as wp

from tests.gradients.finite_difference import check, zeros

F = wp.float64
pytestmark = [pytest.mark.usefixtures("device")]


def one_thread(kernel, *more):
    """A run of `kernel(x, loss, *more)` in one thread."""

    def run(x):
        loss = zeros(1)
        wp.launch(kernel, 1, inputs=[x, loss, *more])
        return loss

    return run


@wp.kernel
def horner(x: wp.array(dtype=F), loss: wp.array(dtype=F), n: int):
    value = F(0.0)
    for i in range(n):
        value = value * x[0] + x[i]
    wp.atomic_add(loss, 0, value * value)


@wp.kernel
def backwards_with_step(x: wp.array(dtype=F), loss: wp.array(dtype=F), n: int):
    s = F(1.0)
    for i in range(n - 1, -1, -2):
        s = wp.sin(s) * x[i] + s
    loss[0] = s


@wp.kernel
def logistic_map(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    y = x[0]
    for _ in range(37):
        y = x[1] * y * (F(1.0) - y)
    loss[0] = y


@wp.kernel
def nested(x: wp.array(dtype=F), loss: wp.array(dtype=F), n: int):
    total = F(0.0)
    for i in range(n):
        inner = x[i]
        for j in range(i + 1):
            inner = inner * wp.cos(x[j]) + total * F(0.1)
        total += inner * inner
    loss[0] = total


@wp.kernel
def newton_root(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    r = x[0]
    i = 0
    while wp.abs(r * r - x[0]) > F(1e-3) and i < 40:
        r = F(0.5) * (r + x[0] / r)
        i += 1
    loss[0] = r * x[1]


@wp.kernel
def two_variables_while(x: wp.array(dtype=F), loss: wp.array(dtype=F), limit: F):
    a = x[0]
    b = x[1]
    while a < limit:
        c = a * x[2] + b
        b = a - b * F(0.5)
        a = c
    loss[0] = a * b


@wp.kernel
def bisection(x: wp.array(dtype=F), loss: wp.array(dtype=F), n: int):
    lo = F(0.0)
    hi = x[0]
    for _ in range(n):
        mid = F(0.5) * (lo + hi)
        if mid * mid * mid > x[1]:
            hi = mid
        else:
            lo = mid
    loss[0] = lo * x[1] + hi


@wp.kernel
def march(x: wp.array(dtype=F), loss: wp.array(dtype=F), n: int):
    t = x[0]
    for i in range(n):
        d = wp.sqrt(t * t + x[1]) - F(1.0)
        if d < F(0.05):
            break
        if i % 3 == 1:
            continue
        t = t - F(0.5) * d
    loss[0] = t * t


@wp.func
def first_above(x: wp.array(dtype=F), n: int, bound: F):
    s = x[0]
    for i in range(1, n):
        if s > bound:
            return s * x[i]
        s = s * x[i] + F(0.25)
    return s - bound * x[0]


@wp.kernel
def returns_early(x: wp.array(dtype=F), loss: wp.array(dtype=F), n: int, bound: F):
    i = wp.tid()
    if i == 1:
        wp.atomic_add(loss, 0, x[1] * x[1] * x[1])
        return
    wp.atomic_add(loss, 0, first_above(x, n, bound))


@wp.kernel
def while_in_for_with_break(x: wp.array(dtype=F), loss: wp.array(dtype=F), n: int):
    s = F(0.0)
    for i in range(n):
        y = x[i]
        k = 0
        while True:
            if y * y > F(4.0):
                break
            y = y * y + F(0.3) + s
            k += 1
            if k == 5:
                break
        if k == 2:
            continue
        s += F(0.1) * y
    loss[0] = s


@wp.kernel
def branches(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    y = x[i]
    if y > F(1.0) and y < F(3.0):
        y = y * y
    elif y <= F(0.0) or y > F(5.0):
        y = wp.exp(y * F(0.1))
    else:
        y = F(1.0) / y
    wp.atomic_add(loss, 0, (y if i % 2 == 0 else -y * y))


@wp.kernel
def running_extremes(x: wp.array(dtype=F), loss: wp.array(dtype=F), n: int):
    hi = x[0]
    lo = x[0]
    for i in range(1, n):
        hi = wp.max(hi, x[i] * x[i - 1])
        lo = wp.min(lo, x[i])
    loss[0] = hi * lo


X3, X5 = [0.7, 1.3, 0.4], [0.7, 1.3, 0.4, 1.9, 0.6]
CASES = {
    "horner": (horner, X5, (5,)),
    "no_iteration": (horner, X5, (0,)),
    "backwards_with_step": (backwards_with_step, X5, (5,)),
    "logistic_map": (logistic_map, [0.3, 3.2], ()),
    "nested": (nested, X3, (3,)),
    "newton_root": (newton_root, [7.0, 1.5], ()),
    "two_variables_while": (two_variables_while, [1.1, 0.3, 1.6], (50.0,)),
    "bisection": (bisection, [2.0, 3.1], (12,)),
    "march": (march, [3.0, 0.4], (30,)),
    "while_in_for_with_break": (while_in_for_with_break, X5, (5,)),
    "running_extremes": (running_extremes, X5, (5,)),
}


@pytest.mark.parametrize("name", CASES)
def test_one_thread(name):
    kernel, x, more = CASES[name]
    check(one_thread(kernel, *more), x)


def test_the_root_has_the_closed_form_derivative():
    (g,), _ = check(one_thread(newton_root), [9.0, 1.0])
    assert g[1] == pytest.approx(3.0, rel=1e-4)


@pytest.mark.parametrize("bound", [0.5, 1.0, 100.0])
def test_early_returns(bound):
    def run(x):
        loss = zeros(1)
        wp.launch(returns_early, 3, inputs=[x, loss, 5, bound])
        return loss

    check(run, [1.2, 0.7, 1.4, 0.9, 1.1])


def test_branches_of_many_threads():
    def run(x):
        loss = zeros(1)
        wp.launch(branches, x.size, inputs=[x, loss])
        return loss

    check(run, np.linspace(-1.97, 6.1, 24))


def test_a_while_loop_with_another_trip_count_in_each_thread():
    def run(x, y):
        loss = zeros(1)
        wp.launch(collatz_like, x.size, inputs=[x, y, loss])
        return loss

    check(run, np.linspace(0.11, 3.0, 17), np.linspace(1.05, 2.0, 17))


@wp.kernel
def collatz_like(x: wp.array(dtype=F), y: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    s = x[i]
    while s < F(20.0):
        if s < F(2.0):
            s = s * y[i] + F(0.2)
        else:
            s = s + s * s * F(0.1) * y[i]
    wp.atomic_add(loss, 0, wp.log(s))
