# SPDX-License-Identifier: Apache-2.0
# test_extrema.py: atomic minima and maxima of vectors, and of elements that one thread owns.
import numpy as np
import pytest
import torch
import warp_torch as wp

from tests.gradients.finite_difference import check, zeros

F = wp.float64
V3 = wp.array(dtype=wp.vec3d)
M22 = wp.array(dtype=wp.mat22d)
X = np.array([0.9, 1.4, 0.3, 1.1])


@wp.kernel
def weigh(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i] * F(i + 1))


@wp.kernel
def running_best(x: wp.array(dtype=F), best: wp.array(dtype=F), y: wp.array(dtype=F), n: int):
    i = wp.tid()
    best[i] = F(0.7)
    for k in range(n):
        old = wp.atomic_max(best, i, wp.sin(x[i] * F(k + 1)))
        y[i] += old * best[i]
        wp.atomic_min(best, i, x[i] * F(1.3))
        best[i] *= F(0.95)


def test_elements_that_one_thread_owns():
    def run(x):
        best, y, loss = zeros(4), zeros(4), zeros(1)
        wp.launch(running_best, 4, inputs=[x, best, y, 5])
        wp.launch(weigh, 4, inputs=[best, loss])
        wp.launch(weigh, 4, inputs=[y, loss])
        return loss

    check(run, X)


def inputs(x):
    t = torch.as_tensor(x)
    return {"x": t, "best": torch.zeros_like(t), "y": torch.zeros_like(t), "n": 5}


def test_their_tangents_and_second_derivatives():
    v = np.array([0.3, -0.4, 0.8, 0.1])
    eps = 1e-6
    direction = {"x": torch.as_tensor(v)}
    ones = {"best": torch.ones(4, dtype=torch.float64), "y": torch.ones(4, dtype=torch.float64)}
    gradient = {n: wp.vjp(running_best, inputs(X + n * eps * v), ones, dim=4)["x"] for n in (-1, 1)}
    got = wp.hvp(running_best, inputs(X), direction, dim=4)["x"]
    wanted = (gradient[1] - gradient[-1]) / (2 * eps)
    torch.testing.assert_close(got, wanted, rtol=1e-6, atol=1e-6)
    tangents = wp.jvp(running_best, inputs(X), direction, dim=4)
    against = wp.vjp(running_best, inputs(X), ones, dim=4)["x"]
    along = sum(t.sum() for t in tangents.values())
    torch.testing.assert_close(along, (against * direction["x"]).sum(), rtol=1e-12, atol=0)
    assert not any(t.requires_grad for t in tangents.values())


@wp.kernel
def box(p: V3, low: V3, high: V3):
    i = wp.tid()
    wp.atomic_min(low, 0, p[i] * p[i][0])
    wp.atomic_max(high, i % 2, p[i])


@wp.kernel
def volume(low: V3, high: V3, loss: wp.array(dtype=F)):
    d = high[0] + F(2.0) * high[1] - low[0]
    loss[0] = d[0] * d[1] * d[2]


def test_a_box_around_points():
    def run(p):
        points = p.reshape((5, 3))
        v = wp.zeros(5, dtype=wp.vec3d, requires_grad=True)
        wp.launch(gather, 5, inputs=[points, v])
        low = wp.full(1, wp.vec3d(9.0, 9.0, 9.0), dtype=wp.vec3d, requires_grad=True)
        high = wp.full(2, wp.vec3d(-9.0, -9.0, -9.0), dtype=wp.vec3d, requires_grad=True)
        loss = zeros(1)
        wp.launch(box, 5, inputs=[v, low, high])
        wp.launch(volume, 1, inputs=[low, high, loss])
        return loss

    check(run, np.random.default_rng(2).uniform(0.5, 1.5, 15))


@wp.kernel
def gather(x: wp.array(dtype=F, ndim=2), v: V3):
    i = wp.tid()
    v[i] = wp.vec3d(x[i, 0], x[i, 1], x[i, 2])


@wp.kernel
def entries(m: M22, least: M22):
    i = wp.tid()
    wp.atomic_min(least, 0, m[i] * m[i])


def test_entries_of_matrices():
    m = torch.tensor(np.random.default_rng(4).uniform(0.5, 1.5, (3, 2, 2)), requires_grad=True)
    least = torch.full((1, 2, 2), 9.0, dtype=torch.float64)
    w = torch.tensor([[[1.0, -2.0], [3.0, 0.5]]], dtype=torch.float64)
    ((m @ m).amin(0) * w[0]).sum().backward()
    got = wp.vjp(entries, {"m": m, "least": least}, {"least": w}, dim=3)["m"]
    torch.testing.assert_close(got, m.grad, rtol=1e-12, atol=1e-12)


@wp.kernel
def growing(m: M22, most: M22, y: M22, n: int):
    i = wp.tid()
    for k in range(n):
        wp.atomic_max(most, i, m[i] * F(k % 3))
        y[i] += most[i] * m[i]
        most[i] = most[i] * F(0.6)


def test_matrices_that_one_thread_owns():
    m = torch.tensor(np.random.default_rng(4).uniform(0.5, 1.5, (3, 2, 2)), requires_grad=True)
    w = torch.tensor(np.random.default_rng(5).normal(size=(3, 2, 2)))
    most, y = torch.full((3, 2, 2), 0.1, dtype=torch.float64), torch.zeros_like(w)
    args = {"m": m, "most": most, "y": y, "n": 5}
    for k in range(5):
        most = torch.maximum(most, m * (k % 3))
        y = y + most @ m
        most = most * 0.6
    (y * w).sum().backward()
    got = wp.vjp(growing, args, {"y": w}, dim=3)["m"]
    torch.testing.assert_close(got, m.grad, rtol=1e-12, atol=1e-12)
    v = torch.ones_like(w)
    tangent = wp.jvp(growing, args, {"m": v}, dim=3)["y"]
    torch.testing.assert_close((tangent * w).sum(), m.grad.sum(), rtol=1e-12, atol=1e-12)


def test_tangents_of_what_threads_share_are_refused():
    x = torch.ones(5, 3, dtype=torch.float64)
    args = {"p": x, "low": x[:1] * 9.0, "high": x[:2] * 0.0}
    with pytest.raises(wp.GradientError, match="atomic_min") as e:
        wp.jvp(box, args, {"p": x}, dim=5)
    assert e.value.code == "WT303"
