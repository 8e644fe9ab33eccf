# SPDX-License-Identifier: Apache-2.0
# test_cuts.py: values that pass through an array without a gradient are refused, not lost.
import numpy as np
import pytest
import warp_torch as wp

from tests.gradients.finite_difference import array, zeros

F = wp.float64


@wp.kernel
def square(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def total(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i])


@wp.kernel
def scaled(x: wp.array(dtype=F), factor: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = x[i] * factor[i]


@wp.kernel
def count_positive(x: wp.array(dtype=F), y: wp.array(dtype=F), signs: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = x[i]
    if x[i] > F(0.0):
        signs[i] = F(1.0)


def test_an_intermediate_array_without_a_gradient_is_refused():
    x, loss = array([1.0, 2.0]), zeros(1)
    y = zeros(2, grad=False)
    with wp.Tape():
        wp.launch(square, 2, inputs=[x, y])
        with pytest.raises(
            wp.GradientError, match="(?s)'x'.*kernel square.*requires_grad=True"
        ) as e:
            wp.launch(total, 2, inputs=[y, loss])
    assert e.value.code == "WT308"
    assert loss.numpy()[0] == 0.0  # It was not run.


def test_so_is_one_that_is_copied_or_handed_on():
    x, loss = array([1.0, 2.0]), zeros(1)
    y, z = zeros(2, grad=False), zeros(2, grad=False)
    with wp.Tape():
        wp.copy(y, x)
        wp.launch(square, 2, inputs=[y, z])
        with pytest.raises(wp.GradientError, match="kernel square"):
            wp.launch(total, 2, inputs=[z, loss])
        with pytest.raises(wp.GradientError, match="copy"):
            wp.copy(zeros(2), y)


def test_reading_it_where_nothing_has_a_gradient_is_fine():
    x = array([1.0, 2.0])
    y, sum_only = zeros(2, grad=False), zeros(1, grad=False)
    with wp.Tape():
        wp.launch(square, 2, inputs=[x, y])
        wp.launch(total, 2, inputs=[y, sum_only])
    assert sum_only.numpy()[0] == 5.0


def test_a_clone_without_gradient_cuts_on_purpose():
    x, z, loss = array([1.0, 2.0]), zeros(2), zeros(1)
    with wp.Tape() as tape:
        factor = wp.clone(x, requires_grad=False)
        wp.launch(scaled, 2, inputs=[x, factor, z])
        wp.launch(total, 2, inputs=[z, loss])
    tape.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 2.0])


def test_values_that_depend_on_nothing_differentiable_are_fine():
    x, y, loss = array([1.0, -2.0]), zeros(2), zeros(1)
    signs = zeros(2, grad=False)
    with wp.Tape() as tape:
        wp.launch(count_positive, 2, inputs=[x, y, signs])
        wp.launch(scaled, 2, inputs=[y, signs, y])
        wp.launch(total, 2, inputs=[y, loss])
    tape.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 0.0])


def test_overwriting_all_of_it_makes_it_clean():
    x, loss = array([1.0, 2.0]), zeros(1)
    y = zeros(2, grad=False)
    constants = array([3.0, 4.0], grad=False)
    with wp.Tape():
        wp.launch(square, 2, inputs=[x, y])
        y.zero_()
        wp.launch(total, 2, inputs=[y, loss])
        wp.launch(square, 2, inputs=[x, y])
        wp.launch(square, 2, inputs=[constants, y])
        wp.launch(total, 2, inputs=[y, loss])
    assert loss.numpy()[0] == 25.0
