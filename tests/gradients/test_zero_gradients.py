# SPDX-License-Identifier: Apache-2.0
# test_zero_gradients.py: launches of many threads, whose gradients are stored where they are known
# to be zero and added to where they are not.
import numpy as np
import pytest
import warp_torch as wp

N = (1 << 18) + 5
ONE = wp.array(dtype=float)
TWO = wp.array(dtype=float, ndim=2)

pytestmark = pytest.mark.usefixtures("device")


@wp.kernel
def odd_squares(x: ONE, y: ONE):
    i = wp.tid()
    if i % 2 == 1:
        y[i] = x[i] * x[i]


@wp.kernel
def row_products(x: TWO, y: ONE):
    i = wp.tid()
    s = 0.0
    for k in range(x.shape[1]):
        s += float(k + 1) * x[i, k]
    y[i] = s


def start(*shape):
    host = np.random.default_rng(5).uniform(0.5, 1.5, size=shape).astype(np.float32)
    return host, wp.array(host, dtype=float, requires_grad=True)


def ones(a):
    return {a: wp.ones_like(a, requires_grad=False)}


def test_what_was_there_is_added_to():
    host, x = start(N)
    y = wp.zeros(N, dtype=float, requires_grad=True)
    want = np.where(np.arange(N) % 2 == 1, 2 * host, 0)
    tape = wp.Tape()
    with tape:
        wp.launch(odd_squares, N, inputs=[x, y])
    tape.backward(grads=ones(y))
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6)
    tape.backward(grads=ones(y))
    np.testing.assert_allclose(x.grad.numpy(), 2 * want, rtol=1e-6)
    x.grad.fill_(1.0)
    tape.backward(grads=ones(y))
    np.testing.assert_allclose(x.grad.numpy(), 1 + want, rtol=1e-6)
    tape.zero()
    tape.backward(grads=ones(y))
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6)


def test_two_launches_add_to_one_gradient():
    host, x = start(N)
    y, z = (wp.zeros(N, dtype=float, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(odd_squares, N, inputs=[x, y])
        wp.launch(odd_squares, N, inputs=[x, z])
    tape.backward(grads=ones(y) | ones(z))
    want = np.where(np.arange(N) % 2 == 1, 4 * host, 0)
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6)


def test_rows_of_a_loop_and_parts_of_an_array():
    _, x = start(2 * N, 3)
    y = wp.zeros(N, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(row_products, N, inputs=[x[:N], y])
    tape.backward(grads=ones(y))
    got = x.grad.numpy()
    assert (got[:N] == [1, 2, 3]).all() and (got[N:] == 0).all()
