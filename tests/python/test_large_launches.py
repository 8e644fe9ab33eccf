# SPDX-License-Identifier: Apache-2.0
# test_large_launches.py: launches large enough for accesses of several threads at once and for sums
# over threads, against NumPy.
import numpy as np
import pytest
import warp_torch as wp

N = (1 << 18) + 3

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]
pytestmark = [pytest.mark.parametrize("device", DEVICES)]


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


@wp.kernel
def move(pos: wp.array(dtype=wp.vec3), vel: wp.array(dtype=wp.vec3), g: wp.vec3, dt: float):
    i = wp.tid()
    vel[i] = vel[i] + g * dt
    pos[i] = pos[i] + vel[i] * dt


@wp.kernel
def add_odd(x: wp.array(dtype=wp.float16), n: int, y: wp.array(dtype=wp.float16)):
    i = wp.tid()
    if i % 2 == 1 and i < n:
        y[i] = x[i] + y[i]


@wp.kernel
def moments(
    x: wp.array(dtype=wp.vec2d), weight: wp.array(dtype=wp.float64), m: wp.array(dtype=wp.vec2d)
):
    i = wp.tid()
    wp.atomic_add(m, 0, x[i] * weight[0])
    wp.atomic_sub(m, 1, wp.cw_mul(x[i], x[i]))


@wp.kernel
def count(x: wp.array(dtype=float), bound: float, n: wp.array(dtype=int)):
    i = wp.tid()
    if x[i] > bound:
        wp.atomic_add(n, 0, 1)


def random(shape, seed, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("start", [0, 1, 4])
def test_own_elements(device, start):
    host = random(N + start, 0)
    x = wp.array(host, dtype=float, device=device)[start:]
    y = wp.zeros(N + start, dtype=float, device=device)
    wp.launch(scale, dim=N, inputs=[x, 3.0, y[start:]], device=device)
    np.testing.assert_array_equal(y.numpy()[start:], host[start:] * np.float32(3))
    assert not y.numpy()[:start].any()


def test_strided_and_in_place(device):
    host = random(2 * N, 1)
    x = wp.array(host, dtype=float, device=device)
    wp.launch(scale, dim=N, inputs=[x[::2], -2.0, x[::2]], device=device)
    wp.launch(scale, dim=N, inputs=[x, 0.5, x], device=device)
    wanted = host.copy()
    wanted[::2] *= -2
    wanted[:N] *= 0.5
    np.testing.assert_array_equal(x.numpy(), wanted)


def test_a_launch_over_part_of_an_array(device):
    host = random(N, 2)
    x, y = wp.array(host, dtype=float, device=device), wp.zeros(N, dtype=float, device=device)
    wp.launch(scale, dim=N - 2, inputs=[x, 2.0, y], device=device)
    np.testing.assert_array_equal(y.numpy()[:-2], 2 * host[:-2])
    assert not y.numpy()[-2:].any()


def test_vectors_changed_in_place(device):
    p, v = random((N, 3), 3), random((N, 3), 4)
    pos = wp.array(p, dtype=wp.vec3, device=device)
    vel = wp.array(v, dtype=wp.vec3, device=device)
    for _ in range(2):
        wp.launch(move, dim=N, inputs=[pos, vel, wp.vec3(0.0, -9.8, 1.0), 0.01], device=device)
        v = v + np.array([0.0, -9.8, 1.0], np.float32) * np.float32(0.01)
        p = p + v * np.float32(0.01)
    np.testing.assert_allclose(vel.numpy(), v, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(pos.numpy(), p, rtol=1e-6, atol=1e-6)


def test_stores_under_a_condition_leave_the_rest(device):
    a, b = random(N, 5, np.float16), random(N, 6, np.float16)
    y = wp.array(b, dtype=wp.float16, device=device)
    wp.launch(
        add_odd,
        dim=N,
        inputs=[wp.array(a, dtype=wp.float16, device=device), N - 9, y],
        device=device,
    )
    wanted = b.copy()
    wanted[1 : N - 9 : 2] += a[1 : N - 9 : 2]
    np.testing.assert_array_equal(y.numpy(), wanted)


@pytest.mark.parametrize("n", [1, 31, 1000, N])
def test_sums_over_threads(device, n):
    x = random((n, 2), 7, np.float64)
    m = wp.array(np.ones((2, 2)), dtype=wp.vec2d, device=device)
    weight = wp.array([0.5], dtype=wp.float64, device=device)
    values = wp.array(x, dtype=wp.vec2d, device=device)
    for block in (256, 96):
        wp.launch(moments, dim=n, inputs=[values, weight, m], device=device, block_dim=block)
    wanted = [1 + x.sum(0), 1 - 2 * (x * x).sum(0)]
    np.testing.assert_allclose(m.numpy(), wanted, rtol=1e-11, atol=1e-9)


def test_counts(device):
    x = random(N, 8)
    n = wp.zeros(1, dtype=int, device=device)
    wp.launch(count, dim=N, inputs=[wp.array(x, dtype=float, device=device), 0.3, n], device=device)
    assert n.numpy()[0] == np.count_nonzero(x > np.float32(0.3))


def test_nothing_is_added_where_nothing_is(device):
    none = wp.zeros(0, dtype=int, device=device)
    x = wp.array(random(100, 9), dtype=float, device=device)
    wp.launch(count, dim=100, inputs=[x, 1e9, none], device=device)
    wp.synchronize()


def test_the_gradient_of_a_shared_parameter(device):
    x = random(N, 10)
    xs = wp.array(x, dtype=float, device=device, requires_grad=True)
    g = wp.array(random(N, 11), dtype=float, device=device)
    s = wp.array([1.5], dtype=float, device=device, requires_grad=True)
    y = wp.zeros(N, dtype=float, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(scale_by, dim=N, inputs=[xs, s, y], device=device)
    tape.backward(grads={y: g})
    np.testing.assert_allclose(xs.grad.numpy(), 1.5 * g.numpy(), rtol=1e-6)
    wanted = np.dot(x.astype(np.float64), g.numpy().astype(np.float64))
    assert s.grad.numpy()[0] == pytest.approx(wanted, rel=1e-3, abs=0.05)


@wp.kernel
def scale_by(x: wp.array(dtype=float), s: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s[0] * x[i]
