# SPDX-License-Identifier: Apache-2.0
# test_derivatives.py: jvp, vjp, hvp and jacobian of kernels against torch.func in float64.
import numpy as np
import pytest
import torch
import warp_torch as wp

F = wp.float64
N = 5


@wp.kernel
def own(x: wp.array(dtype=wp.vec2d), s: F, y: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    a = x[i]
    y[i] = wp.vec3d(wp.sin(a[0]) * s, a[0] * a[1], wp.exp(s * a[1]))


def own_torch(x, s):
    return torch.stack([x[:, 0].sin() * s, x[:, 0] * x[:, 1], (s * x[:, 1]).exp()], 1)


@wp.kernel
def neighbours(x: wp.array(dtype=F), w: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    left = x[wp.max(i - 1, 0)]
    total = F(0.0)
    for k in range(3):
        total += w[k] * left * x[i] / F(k + 1)
    y[i] = total * total


def neighbours_torch(x, w):
    left = torch.cat([x[:1], x[:-1]])
    total = (w / torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)).sum() * left * x
    return total * total


@wp.kernel
def in_place(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    x[i] = x[i] * x[i] * x[i]
    wp.atomic_add(loss, 0, x[i] * x[i])


def data(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


X2, V2, W3 = data(N, 2), data(N, 2, seed=1), data(N, 3, seed=2)
X, V, W = data(N, seed=3), data(N, seed=4), data(3, seed=5)
S = torch.tensor(0.7, dtype=torch.float64)


def own_inputs():
    return {"x": X2, "s": 0.7, "y": torch.zeros(N, 3, dtype=torch.float64)}


def test_jvp():
    got = wp.jvp(own, own_inputs(), {"x": V2, "s": 1.5})
    _, wanted = torch.func.jvp(own_torch, (X2, S), (V2, torch.tensor(1.5, dtype=torch.float64)))
    assert list(got) == ["y"]
    torch.testing.assert_close(got["y"], wanted)


def test_vjp():
    got = wp.vjp(own, own_inputs(), {"y": W3})
    _, pull = torch.func.vjp(own_torch, X2, S)
    gx, gs = pull(W3)
    torch.testing.assert_close(got["x"], gx)
    assert got["s"] == pytest.approx(gs.item(), rel=1e-12)
    assert set(got) == {"x", "s"}


def test_hvp():
    got = wp.hvp(own, own_inputs(), {"x": V2, "s": 0.3})
    grad = torch.func.grad(lambda x, s: own_torch(x, s).sum(), argnums=(0, 1))
    _, (hx, hs) = torch.func.jvp(grad, (X2, S), (V2, torch.tensor(0.3, dtype=torch.float64)))
    torch.testing.assert_close(got["x"], hx)
    assert got["s"] == pytest.approx(hs.item(), rel=1e-12)


def test_jacobian_of_threads_on_their_own():
    got = wp.jacobian(own, own_inputs())
    jx, js = torch.func.jacrev(own_torch, argnums=(0, 1))(X2, S)
    np.testing.assert_allclose(got["y", "x"], jx.reshape(3 * N, 2 * N), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(got["y", "s"], js.reshape(3 * N, 1), rtol=1e-12)


def arrays(*tensors):
    return [wp.array(t.numpy(), dtype=F) for t in tensors]


def test_arrays_give_arrays():
    x, w, y, v = *arrays(X, W), wp.zeros(N, dtype=F), *arrays(V)
    (got,) = wp.jvp(neighbours, [x, w, y], {"x": v}).values()
    _, wanted = torch.func.jvp(lambda x: neighbours_torch(x, W), (X,), (V,))
    assert isinstance(got, wp.array)
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-12)
    assert not y.numpy().any() and x.grad is None
    jac = wp.jacobian(neighbours, [x, w, y], wrt=["x"])
    wanted = torch.func.jacrev(lambda x: neighbours_torch(x, W))(X)
    np.testing.assert_allclose(jac["y", "x"], wanted, rtol=1e-12, atol=1e-15)
    h = wp.hvp(neighbours, [x, w, y], {"x": v})["x"]
    grad = torch.func.grad(lambda x: neighbours_torch(x, W).sum())
    np.testing.assert_allclose(h.numpy(), torch.func.jvp(grad, (X,), (V,))[1], rtol=1e-12)


def test_an_array_changed_in_place():
    loss = torch.zeros(1, dtype=torch.float64)
    x = X.clone()
    got = wp.vjp(in_place, {"x": x, "loss": loss}, {"x": V, "loss": torch.ones_like(loss)})
    assert torch.equal(x, X) and not loss.any()
    torch.testing.assert_close(got["x"], 3 * X**2 * V + 6 * X**5)
    torch.testing.assert_close(got["loss"], torch.ones(1, dtype=torch.float64))
    moved = wp.jvp(in_place, {"x": x, "loss": loss}, {"x": V})
    torch.testing.assert_close(moved["x"], 3 * X**2 * V)
    torch.testing.assert_close(moved["loss"], (6 * X**5 * V).sum().reshape(1))


@wp.struct
class Spring:
    k: F
    g: wp.vec2d
    x: wp.array(dtype=F)


@wp.kernel
def springs(s: Spring, y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = s.k * s.k * s.x[i] + s.g[1] * s.x[i] * s.x[i]


def test_fields_of_structs_are_arguments():
    s = Spring()
    s.k, s.g, s.x = 1.5, wp.vec2d(0.3, -0.7), wp.array(X.numpy(), dtype=F, device="cpu")
    y = wp.zeros(N, dtype=F, device="cpu")

    def as_torch(k, g, x):
        return k * k * x + g[1] * x * x

    at = (*(torch.tensor(a, dtype=torch.float64) for a in (1.5, [0.3, -0.7])), X)
    w = V.numpy()
    got = wp.vjp(springs, [s, y], {"y": w})
    wanted = torch.func.vjp(as_torch, *at)[1](V)
    for name, value in zip(["s.k", "s.g", "s.x"], wanted):
        found = got[name].numpy() if hasattr(got[name], "numpy") else got[name]
        np.testing.assert_allclose(found, value, rtol=1e-12)
    moved = wp.jvp(springs, [s, y], {"s.k": 2.0, "s.g": [1.0, 0.5], "s.x": w})["y"]
    along = (*(torch.tensor(a, dtype=torch.float64) for a in (2.0, [1.0, 0.5])), V)
    np.testing.assert_allclose(moved.numpy(), torch.func.jvp(as_torch, at, along)[1], rtol=1e-12)
    hv = wp.hvp(springs, [s, y], {"s.k": 1.0})
    np.testing.assert_allclose(hv["s.x"].numpy(), np.full(N, 3.0), rtol=1e-12)
    rows = wp.jacobian(springs, [s, y], wrt=["s.k"])["y", "s.k"]
    np.testing.assert_allclose(rows[:, 0], 3.0 * X, rtol=1e-12)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: wp.jvp(own, [X2, 0.7], {}), "takes x, s, y"),
        (lambda: wp.jvp(own, {"x": X2, "z": 1.0}, {}), "takes x, s, y"),
        (lambda: wp.jvp(own, own_inputs(), {"z": X2}), "x, s, y"),
        (lambda: wp.vjp(own, own_inputs(), {"x": X2}), "y"),
        (lambda: wp.vjp(own, own_inputs(), {"y": data(N)}), "components"),
        (lambda: wp.jacobian(own, own_inputs(), wrt=["y"]), "x, s"),
    ],
)
def test_errors(call, text):
    with pytest.raises((wp.ArgumentValueError, wp.ArgumentTypeError, ValueError), match=text):
        call()
