# SPDX-License-Identifier: Apache-2.0
# test_array_sort.py: sorting, runs and casts of arrays against NumPy.
import numpy as np
import pytest
import torch
import warp_torch as wp

KEYS = {
    wp.int32: np.int32,
    wp.uint32: np.uint32,
    wp.float32: np.float32,
    wp.int64: np.int64,
    wp.uint64: np.uint64,
}


@pytest.mark.parametrize("dtype", KEYS, ids=lambda t: t.__name__)
def test_pairs_are_sorted_and_equal_keys_keep_their_order(dtype):
    rng = np.random.default_rng(0)
    if dtype is wp.float32:
        host = np.round(rng.normal(size=200), 1).astype(np.float32)
    else:
        info = np.iinfo(KEYS[dtype])
        host = rng.choice(rng.integers(info.min, info.max, 40, KEYS[dtype], True), 200)
    keys, values = wp.array(host, dtype=dtype), wp.array(np.arange(200), dtype=int)
    wp.utils.radix_sort_pairs(keys, values, 150)
    order = np.argsort(host[:150], kind="stable")
    np.testing.assert_array_equal(keys.numpy(), [*host[:150][order], *host[150:]])
    np.testing.assert_array_equal(values.numpy(), [*order, *range(150, 200)])


def test_some_bits_of_the_keys():
    host = np.random.default_rng(1).integers(0, 1 << 20, 64)
    keys, values = wp.array(host, dtype=int), wp.array(np.arange(64), dtype=int)
    wp.utils.radix_sort_pairs(keys, values, 64, begin_bit=4, end_bit=8)
    order = np.argsort((host >> 4) & 15, kind="stable")
    np.testing.assert_array_equal(values.numpy(), order)


def test_runs():
    values = wp.array([7, 7, 1, 2, 2, 2, 7], dtype=int)
    found, lengths = wp.zeros(6, dtype=int), wp.zeros(6, dtype=int)
    assert wp.utils.runlength_encode(values, found, lengths) == 4
    np.testing.assert_array_equal(found.numpy()[:4], [7, 1, 2, 7])
    np.testing.assert_array_equal(lengths.numpy()[:4], [2, 1, 3, 1])
    count = wp.zeros(1, dtype=int)
    assert wp.utils.runlength_encode(values, found, lengths, count, 3) is count
    assert count.numpy()[0] == 2


def test_casts_pass_gradients():
    x = wp.array([[1.5, -2.5, 3.0]] * 2, dtype=wp.vec3, requires_grad=True)
    y = wp.zeros(2, dtype=wp.vec3d, requires_grad=True)
    with wp.Tape() as tape:
        wp.utils.array_cast(x, y)
    np.testing.assert_array_equal(y.numpy(), x.numpy())
    tape.backward(grads={y: wp.ones(2, dtype=wp.vec3d)})
    np.testing.assert_array_equal(x.grad.numpy(), np.ones((2, 3)))
    out = wp.zeros(3, dtype=int)
    wp.utils.array_cast(wp.array([1.9, -1.9, 5.0], dtype=float), out, count=2)
    np.testing.assert_array_equal(out.numpy(), [1, -1, 0])


def test_errors():
    ints, floats = wp.zeros(4, dtype=int), wp.zeros(4, dtype=float, requires_grad=True)
    with pytest.raises(wp.ArgumentTypeError, match="vec3"):
        wp.utils.radix_sort_pairs(wp.zeros(4, dtype=wp.vec3), ints, 4)
    with pytest.raises(wp.ArgumentValueError, match="count of 5"):
        wp.utils.radix_sort_pairs(ints, floats, 5)
    with pytest.raises(wp.ArgumentValueError, match="2 runs"):
        wp.utils.runlength_encode(
            wp.array([1, 2], dtype=int), wp.zeros(1, dtype=int), wp.zeros(1, dtype=int)
        )
    with wp.Tape(), pytest.raises(wp.GradientError, match="values"):
        wp.utils.radix_sort_pairs(ints, floats, 4)
    assert torch.is_grad_enabled()
