# SPDX-License-Identifier: Apache-2.0
# test_budget.py: memory that backward uses for loops, and the same gradient with hardly any.
import numpy as np
import pytest
import warp_torch as wp

from tests.gradients.finite_difference import check, taped, zeros

F = wp.float64
pytestmark = pytest.mark.usefixtures("device")


@wp.kernel
def orbit(x: wp.array(dtype=F), loss: wp.array(dtype=F), limit: F):
    i = wp.tid()
    p = wp.vec2d(x[i], F(0.0))
    v = wp.vec2d(F(0.0), F(1.0) + F(0.1) * x[i])
    t = F(0.0)
    while t < limit:
        r = wp.length(p)
        v = v - p * (F(0.02) / (r * r * r))
        p = p + v * F(0.02)
        t += F(0.02)
    wp.atomic_add(loss, 0, p[0] * v[1])


@wp.kernel
def growth(x: wp.array(dtype=F), loss: wp.array(dtype=F), n: int):
    i = wp.tid()
    s = x[i]
    for _ in range(n):
        s = s + F(0.01) * wp.sin(s * s)
    wp.atomic_add(loss, 0, s)


@pytest.fixture
def budget():
    before = wp.config.tape_budget

    def change(n):
        wp.config.tape_budget = n

    yield change
    wp.config.tape_budget = before


def orbits(x):
    loss = zeros(1)
    wp.launch(orbit, x.size, inputs=[x, loss, 6.0])
    return loss


def test_the_scratch_of_a_while_loop_stays_within_the_budget(budget):
    x = np.linspace(0.8, 1.2, 3)
    _, (full,), _ = taped(orbits, [x])
    for bytes_allowed in (1 << 20, 64 << 10, 16 << 10):
        budget(bytes_allowed)
        _, (g,), tape = taped(orbits, [x])
        assert 0 < tape.stats()["scratch_bytes"] <= bytes_allowed
        np.testing.assert_array_equal(g, full)


def test_the_smallest_budget_gives_the_same_gradient(budget):
    budget(0)
    check(orbits, np.linspace(0.8, 1.2, 2), rtol=1e-5)


def test_a_for_loop_in_a_tiny_budget(budget):
    def run(x):
        loss = zeros(1)
        wp.launch(growth, x.size, inputs=[x, loss, 300])
        return loss

    x = np.linspace(-2.0, 2.0, 9)
    _, (full,), _ = taped(run, [x])
    budget(4 << 10)
    _, (small,), _ = taped(run, [x])
    np.testing.assert_array_equal(small, full)
    check(run, x)


def test_an_option_that_does_not_exist_is_refused():
    with pytest.raises(AttributeError, match="did you mean 'tape_budget'"):
        wp.config.tape_buget = 3
    with pytest.raises(wp.ArgumentValueError, match="tape_budget"):
        wp.config.tape_budget = -1


@wp.kernel
def long_while(x: wp.array(dtype=F), loss: wp.array(dtype=F), steps: int):
    i = wp.tid()
    s = x[i]
    k = 0
    while k < steps:
        s = s - F(1e-6) * s * s
        k += 1
    wp.atomic_add(loss, 0, s)


def test_a_million_steps_of_a_while_loop_in_a_small_budget(budget):
    steps = 1_000_000
    start = 1.3
    budget(64 << 10)

    def run(x):
        loss = zeros(1)
        wp.launch(long_while, x.size, inputs=[x, loss, steps])
        return loss

    loss, (gradient,), tape = taped(run, [np.array([start])])
    stats = tape.stats()
    assert 0 < stats["scratch_bytes"] <= 64 << 10
    assert stats["log_bytes"] == 0 and stats["saved_bytes"] == 0
    s, slope = start, 1.0
    for _ in range(steps):
        slope *= 1.0 - 2e-6 * s
        s -= 1e-6 * s * s
    np.testing.assert_allclose(loss, s, rtol=1e-12)
    np.testing.assert_allclose(gradient, [slope], rtol=1e-10)
    info = long_while.adjoint_info()
    assert info["tape_slots"] == 0 and info["history_slots"] > 0 and not info["augmented"]
