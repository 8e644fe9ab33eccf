# SPDX-License-Identifier: Apache-2.0
# test_gradcheck.py: gradcheck() of right and wrong kernels, and Jacobians from few launches.
import numpy as np
import pytest
import torch
import warp_torch as wp
from warp_torch import derivatives

from tests.gradients.wrong_cube import cube
from tests.support.source_lines import line_of


def array(values, dtype=float):
    return wp.array(np.asarray(values), dtype=dtype, device="cpu")


@wp.kernel
def spring(x: wp.array(dtype=wp.vec3), k: float, f: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    d = x[i + 1] - x[i]
    f[i] = k * (wp.length(d) - 0.5) * wp.normalize(d)


@wp.kernel
def wrong(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * cube(x[i])


@wp.kernel
def any_float(x: wp.array(dtype=wp.Float), y: wp.array(dtype=wp.Float)):
    i = wp.tid()
    s = x[i] * x[i]
    for j in range(5):
        s = wp.sin(s) + x[i]
    wp.atomic_add(y, 0, s)


@wp.kernel
def noisy(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    rng = wp.rand_init(3, i)
    y[i] = x[i] * x[i] * wp.randf(rng)


def test_right_kernels():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 3))
    f = wp.zeros(4, dtype=wp.vec3, device="cpu")
    assert wp.gradcheck(spring, [array(x, wp.vec3), 2.0, f])
    assert wp.gradcheck(spring, {"x": array(x, wp.vec3), "k": 2.0, "f": f}, dim=4, samples=3)
    t = torch.tensor([0.3, 0.7], dtype=torch.float32)
    assert wp.gradcheck(any_float, [t, torch.zeros(1)], dim=2)
    assert wp.gradcheck(any_float, [array([0.3], wp.float16), array([0.0], wp.float16)], dim=1)
    assert wp.gradcheck(noisy, [array([0.5, 2.0]), array([0.0, 0.0])])


def test_a_wrong_kernel():
    args = [array([1.0, 2.0]), 1.5, array([0.0, 0.0])]
    assert not wp.gradcheck(wrong, args, raise_exception=False)
    with pytest.raises(wp.GradientError) as e:
        wp.gradcheck(wrong, args)
    text = str(e.value)
    assert e.value.code == "WT310" and e.value.filename == __file__
    assert e.value.lineno == line_of(wrong, "cube(")
    assert "output 'y' at (1,) by input 'x' at (1,), thread 1" in text, text
    assert "reverse mode 12, forward mode refused, finite differences 18" in text


@wp.kernel
def blur(a: wp.array2d(dtype=wp.vec2), b: wp.array2d(dtype=wp.vec2)):
    i, j = wp.tid()
    s = a[i, j] * a[i, j][0]
    if i > 0:
        s += a[i - 1, j]
    if j + 1 < a.shape[1]:
        s += wp.cw_mul(a[i, j + 1], a[i, j])
    b[i, j] = s


@wp.kernel
def far(a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64)):
    i = wp.tid()
    n = a.shape[0]
    b[i] = a[i] * a[n - 1 - i]


def count_columns(monkeypatch):
    made = []
    column = derivatives._column

    def counted(*args):
        made.append(args[1])
        return column(*args)

    monkeypatch.setattr(derivatives, "_column", counted)
    return made


def test_a_stencil_takes_few_launches(monkeypatch):
    a = array(np.random.default_rng(1).normal(size=(12, 10, 2)), wp.vec2)
    b = wp.zeros((12, 10), dtype=wp.vec2, device="cpu")
    launches = count_columns(monkeypatch)
    found = wp.jacobian(blur, [a, b])["b", "a"]
    assert len(launches) < 40  # 240 columns
    whole = np.stack(
        [
            wp.jvp(blur, [a, b], {"a": np.eye(240)[k].reshape(12, 10, 2)})["b"].numpy().ravel()
            for k in range(0, 240, 7)
        ],
        1,
    )
    np.testing.assert_allclose(found[:, ::7], whole, rtol=1e-6)


def test_what_is_far_away_is_not_lost():
    a = array(np.arange(1.0, 33.0), wp.float64)
    b = wp.zeros(32, dtype=wp.float64, device="cpu")
    found = wp.jacobian(far, [a, b], wrt=["a"])["b", "a"]
    x = np.arange(1.0, 33.0)
    np.testing.assert_array_equal(found, np.diag(x[::-1]) + np.fliplr(np.diag(x)))


def test_blocks_are_of_kernels():
    x = wp.array([1.0, 2.0], dtype=float, device="cpu", requires_grad=True)
    y = wp.zeros(2, dtype=float, device="cpu", requires_grad=True)
    wp.autograd.jacobian(noisy, dim=2, inputs=[x], outputs=[y], max_blocks=1, block_dim=64)
    with pytest.raises(wp.ArgumentValueError, match="max_blocks and block_dim"):
        wp.autograd.jacobian(lambda a: a, inputs=[x], block_dim=64)
