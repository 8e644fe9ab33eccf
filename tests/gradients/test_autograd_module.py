# SPDX-License-Identifier: Apache-2.0
# test_autograd_module.py: warp_torch.autograd: Jacobians against closed forms, and checks that fail.
import numpy as np
import pytest
import warp_torch as wp


@wp.kernel
def product(x: wp.array(dtype=wp.vec3), s: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.dot(x[i], x[i]) * s[0]


def arguments():
    x = wp.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]], dtype=wp.vec3, requires_grad=True)
    s = wp.array([1.5], dtype=float, requires_grad=True)
    return x, s, wp.zeros(2, dtype=float, requires_grad=True)


def wanted(x):
    block = np.zeros((2, 6))
    block[0, :3], block[1, 3:] = 3 * x[0], 3 * x[1]
    return block, (x * x).sum(1, keepdims=True)


@pytest.mark.parametrize("which, rtol", [("jacobian", 1e-6), ("jacobian_fd", 1e-2)])
def test_a_kernel(which, rtol):
    x, s, y = arguments()
    found = getattr(wp.autograd, which)(product, dim=2, inputs=[x, s], outputs=[y])
    by_x, by_s = wanted(x.numpy())
    assert set(found) == {(0, 0), (1, 0)}
    assert found[0, 0].shape == (2, 2) and found[0, 0].dtype is wp.vec3
    got = found[0, 0].numpy().reshape(2, 6)
    np.testing.assert_allclose(got, by_x, rtol=rtol, atol=2e-2 * (rtol > 1e-4))
    np.testing.assert_allclose(found[1, 0].numpy(), by_s, rtol=rtol)


def test_a_function_of_two_launches():
    x, s, _ = arguments()

    def twice(x, s):
        y = wp.zeros(2, dtype=float, requires_grad=True)
        z = wp.zeros(1, dtype=float, requires_grad=True)
        wp.launch(product, dim=2, inputs=[x, s, y])
        wp.launch(add_squares, dim=2, inputs=[y, z])
        return z

    assert wp.autograd.gradcheck(twice, inputs=[x, s], eps=1e-3, atol=0.5, show_summary=False)
    found = wp.autograd.jacobian(twice, inputs=[x, s], input_output_mask=[(1, 0)])
    norms = (x.numpy() ** 2).sum(1)
    np.testing.assert_allclose(found[1, 0].numpy(), [[2 * 1.5 * (norms**2).sum()]], rtol=1e-5)


@wp.kernel
def add_squares(y: wp.array(dtype=float), z: wp.array(dtype=float)):
    wp.atomic_add(z, 0, y[wp.tid()] * y[wp.tid()])


@wp.kernel
def jump(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.floor(x[i]) + x[i]


def test_a_check_that_fails_says_where():
    x = wp.array([0.3, 1.0], dtype=float, requires_grad=True)
    y = wp.zeros(2, dtype=float, requires_grad=True)
    with pytest.raises(wp.GradientError, match=r"y by x: d output\[1\] / d input\[1\] is 1"):
        wp.autograd.gradcheck(jump, dim=2, inputs=[x], outputs=[y], show_summary=False)
    ok = wp.autograd.gradcheck(
        jump, dim=2, inputs=[x], outputs=[y], raise_exception=False, show_summary=False
    )
    assert not ok
    np.testing.assert_array_equal(x.numpy(), np.float32([0.3, 1.0]))


def test_names_and_errors():
    x, s, y = arguments()
    found = wp.autograd.jacobian(
        product, dim=2, inputs=[x, s, y], input_output_mask=[("s", "y")], max_outputs_per_var=1
    )
    assert list(found) == [(1, 0)] and found[1, 0].shape == (1, 1)
    with pytest.raises(wp.ArgumentValueError, match="dim"):
        wp.autograd.jacobian(product, inputs=[x, s], outputs=[y])
    with pytest.raises(wp.ArgumentValueError, match="requires_grad"):
        plain = wp.zeros(2, dtype=float)
        wp.autograd.jacobian(product, dim=2, inputs=[x, s], outputs=[plain])
