# SPDX-License-Identifier: Apache-2.0
# test_bytes.py: what a gradient keeps from forward to backward, and what backward uses meanwhile.
import numpy as np
import pytest
import warp_torch as wp

from tests.gradients.finite_difference import check, zeros

F = wp.float64
A1 = wp.array(dtype=F)
ROW = 256  # bytes that a log or a history of few numbers takes
X4 = [0.9, -1.4, 2.1, 0.6]


@wp.kernel
def product(x: A1, loss: A1, n: int):
    s = F(1.0)
    for i in range(n):
        s = s * x[i]
    loss[0] = s


@wp.kernel
def damped(x: A1, loss: A1, n: int):
    a = x[0]
    b = x[1]
    for _ in range(n):
        a, b = a + F(0.1) * b, b - F(0.1) * wp.sin(a)
    loss[0] = a * b


@wp.kernel
def fixed_length(x: A1, loss: A1, n: int):
    s = x[0]
    for _ in range(20):
        s = s * x[1] + wp.sin(s)
    loss[0] = s


@wp.kernel
def linear(x: A1, loss: A1, n: int):
    s = F(0.0)
    for i in range(n):
        s = s * F(2.0) + x[i]
    loss[0] = s


@wp.kernel
def stops(x: A1, loss: A1, n: int):
    s = x[0]
    for i in range(n):
        if s > F(3.0):
            break
        s = s * x[2] + x[i] * x[i]
    loss[0] = s * s


@wp.kernel
def counted(x: A1, loss: A1, n: int):
    s = x[0]
    k = 0
    while k < n and s < F(50.0):
        s = s * s + x[1]
        k += 1
    loss[0] = s


@wp.kernel
def random_factors(x: A1, loss: A1, n: int):
    state = wp.rand_init(7)
    s = x[0]
    for i in range(n):
        s = s * F(wp.randf(state)) + x[i]
    loss[0] = s


@wp.kernel
def components(x: A1, loss: A1, n: int):
    v = wp.vec2d(x[0], x[1])
    v[0] = v[0] * v[1]
    v[1] = v[0] * v[0] + x[2]
    loss[0] = v[0] * v[1]


@wp.kernel
def local_products(x: A1, loss: A1, n: int):
    h = wp.zeros(shape=4, dtype=F)
    h[0] = x[0]
    for i in range(1, 4):
        h[i] = h[i - 1] * x[i]
    loss[0] = h[3] + h[2]


@wp.kernel
def square(x: A1, loss: A1, n: int):
    x[1] = x[0] * x[0]
    loss[0] = x[1] + x[2]


@wp.kernel
def scaled_in_place(x: A1, loss: A1, n: int):
    for i in range(1, n):
        x[i] *= x[i - 1]
    loss[0] = x[n - 1]


@wp.kernel
def placed_by_a_counter(x: A1, loss: A1, count: wp.array(dtype=int)):
    i = wp.tid()
    j = wp.atomic_add(count, 0, 1)
    wp.atomic_add(loss, 0, x[i] * F(j + 1))


# A loop's history has one row for each carried value that some partial needs, or that such a value
# follows from, and one for the numbers of iterations; a log has one row for each load or atomic.
CASES = [
    (product, 0, 2 * ROW),  # s
    (damped, 0, 3 * ROW),  # a, and b that it follows from
    (fixed_length, 0, 0),  # in registers
    (linear, 0, 0),
    (stops, 0, 2 * ROW),  # s
    (counted, 0, 2 * ROW),  # s; k follows from the iteration
    (random_factors, 0, 2 * ROW),  # the state of the generator
    (components, 0, 0),
    (local_products, 0, 2 * ROW),  # h
    (square, ROW, 0),  # x[0], as the kernel writes to x
    (scaled_in_place, 2 * ROW, 0),  # x[i] and x[i - 1]
]


@pytest.mark.parametrize("kernel, log, scratch", CASES, ids=[c[0].key for c in CASES])
def test_bytes(device, kernel, log, scratch):
    def run(x):
        loss = zeros(1)
        wp.launch(kernel, 1, inputs=[x, loss, 4])
        return loss

    _, tape = check(run, X4)
    stats = tape.stats()
    assert stats["saved_bytes"] == 0 and stats["log_bytes"] == log
    if device == "cpu":  # a GPU has more threads in flight
        assert stats["scratch_bytes"] == scratch


@pytest.mark.usefixtures("device")
def test_a_returned_place_is_logged_once_for_each_thread():
    def run(x):
        loss, count = zeros(1), wp.zeros(1, dtype=int)
        wp.launch(placed_by_a_counter, 4, inputs=[x, loss, count])
        return loss

    _, tape = check(run, X4)
    assert tape.stats()["log_bytes"] == ROW  # four int32
    assert tape.stats()["scratch_bytes"] == 0


@pytest.mark.usefixtures("device")
def test_history_is_no_longer_than_its_loop():
    def run(x, n):
        loss = zeros(1)
        wp.launch(product, 1, inputs=[x, loss, n])
        return loss

    x = np.linspace(0.9, 1.1, 2000)
    used = []
    for n in (4, 2000):
        arrays = wp.array(x, dtype=F, requires_grad=True)
        with wp.Tape() as tape:
            loss = run(arrays, n)
        tape.backward(loss)
        used.append(tape.stats()["scratch_bytes"])
    # Of a budget of 256 MB: 8 bytes of s and 8 of the iteration, for each thread in flight.
    assert used[0] < used[1] <= 2000 * 16 * 1024
