# SPDX-License-Identifier: Apache-2.0
# test_array_math.py: map(), operators of arrays and utils beside NumPy, and their gradients.
import numpy as np
import pytest
import warp_torch as wp

from tests.gradients.finite_difference import check, zeros

F = wp.float64
X = np.array([0.6, -0.5, 0.9])
Y = np.array([1.4, 2.5, -0.7])


@wp.func
def cube(v: F):
    return v * v * v


@wp.kernel
def weighted_sum(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * F(i + 1))


def arrays(*values, dtype=F):
    return [wp.array(v, dtype=dtype, device="cpu") for v in values]


def loss_of(y):
    loss = zeros(1)
    wp.launch(weighted_sum, y.shape, inputs=[y, loss])
    return loss


def test_map_with_functions_builtins_and_values():
    x, y = arrays(X, Y)
    np.testing.assert_array_equal(wp.map(cube, x).numpy(), X * X * X)
    np.testing.assert_allclose(wp.map(wp.atan2, x, y).numpy(), np.arctan2(X, Y), rtol=1e-15)
    np.testing.assert_array_equal(wp.map(wp.max, x, 0.25).numpy(), np.maximum(X, 0.25))
    out = wp.zeros(3, dtype=F, device="cpu")
    assert wp.map(wp.abs, x, out=out) is out
    np.testing.assert_array_equal(out.numpy(), np.abs(X))


def test_map_finds_the_type_of_the_results():
    v = wp.array(np.arange(6.0).reshape(2, 3), dtype=wp.vec3, device="cpu")
    lengths = wp.map(wp.length, v)
    assert lengths.dtype is wp.float32
    np.testing.assert_allclose(lengths.numpy(), np.linalg.norm(v.numpy(), axis=1), rtol=1e-6)
    assert wp.map(wp.isfinite, lengths).dtype is wp.bool
    grid = wp.array(np.arange(6.0).reshape(2, 3), dtype=F, device="cpu")
    np.testing.assert_array_equal(wp.map(cube, grid).numpy(), grid.numpy() ** 3)


def test_map_says_what_is_wrong():
    x, y = arrays(X, Y[:2])
    with pytest.raises(wp.ArgumentValueError, match=r"\(3,\) and \(2,\)"):
        wp.map(wp.atan2, x, y)
    with pytest.raises(wp.ArgumentTypeError, match="at least one array"):
        wp.map(cube, 1.0)
    with pytest.raises(wp.ArgumentTypeError, match="wanted a function"):
        wp.map("sin", x)
    with pytest.raises(wp.ArgumentTypeError, match="type of the results"):
        wp.map(cube, wp.array([1, 2], dtype=int, device="cpu"))


def test_operators():
    x, y = arrays(X, Y)
    for got, wanted in [
        (x + y, X + Y),
        (x - 2.0, X - 2.0),
        (1 / y, 1 / Y),
        (3.0 * x, 3.0 * X),
        (-x, -X),
        (+x, X),
        (y**2.0, Y**2.0),
        (x * y - y / x, X * Y - Y / X),
    ]:
        np.testing.assert_array_equal(got.numpy(), wanted)
    i = wp.array([7, -7], dtype=int, device="cpu")
    np.testing.assert_array_equal((i // 2).numpy(), np.array([7, -7]) // 2)
    with pytest.raises(TypeError):
        x + "1"


def test_operators_of_vectors():
    v = wp.array(np.arange(6.0).reshape(2, 3), dtype=wp.vec3, device="cpu")
    np.testing.assert_array_equal((v * 2.0 + v).numpy(), 3.0 * v.numpy())
    np.testing.assert_array_equal((v + wp.vec3(1.0, 2.0, 3.0)).numpy(), v.numpy() + [1, 2, 3])


def test_in_place_operators_write_the_array():
    x, y = arrays(X, Y)
    same = x
    x += y
    x *= 2.0
    assert same is x
    np.testing.assert_array_equal(same.numpy(), (X + Y) * 2.0)


def test_gradients_of_operators_and_map():
    def run(x, y):
        z = x * x + 2.0 * x - y / x
        z *= x
        return loss_of(wp.map(wp.sin, -(z**2.0) + y))

    check(run, X, Y)


def test_sums():
    m = np.arange(24.0).reshape(2, 3, 4)
    (a,) = arrays(m)
    assert wp.utils.array_sum(a) == m.sum()
    for axis in (0, 1, 2, -1):
        sums = wp.utils.array_sum(a, axis=axis).numpy()
        np.testing.assert_array_equal(sums, m.sum(axis=axis, keepdims=True))
    (x,) = arrays(X)
    assert wp.utils.array_sum(x, value_count=2) == X[:2].sum()
    out = wp.full(1, 5.0, dtype=F, device="cpu")
    wp.utils.array_sum(x, out=out)
    np.testing.assert_allclose(out.numpy(), [X.sum()], rtol=1e-15)
    v = wp.array(np.arange(6.0).reshape(2, 3), dtype=wp.vec3, device="cpu")
    assert list(wp.utils.array_sum(v)) == [3.0, 5.0, 7.0]
    np.testing.assert_allclose(wp.utils.array_inner(x, x), X @ X, rtol=1e-15)
    assert wp.utils.array_inner(v, v) == (v.numpy() ** 2).sum()
    with pytest.raises(wp.ArgumentValueError, match="wanted"):
        wp.utils.array_sum(a, out=out, axis=0)


@pytest.mark.parametrize("n", [1, 2, 10, 97])
@pytest.mark.parametrize("inclusive", [True, False])
def test_scans(n, inclusive):
    values = np.arange(n) % 5 + 1
    a = wp.array(values, dtype=int, device="cpu")
    out = wp.zeros(n, dtype=int, device="cpu")
    wp.utils.array_scan(a, out, inclusive=inclusive)
    wanted = np.cumsum(values) - (0 if inclusive else values)
    np.testing.assert_array_equal(out.numpy(), wanted)


def test_gradients_of_sums_and_scans():
    def run(x):
        y = zeros(3)
        wp.utils.array_scan(x, y, inclusive=False)
        sums = zeros(1)
        wp.utils.array_sum(y * x, out=sums)
        products = zeros(1)
        wp.utils.array_inner(x, y, out=products)
        return loss_of(sums * products)

    check(run, X)
