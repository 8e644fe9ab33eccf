# SPDX-License-Identifier: Apache-2.0
# test_lost_history.py: values that leave a tape and come back another way are refused, not lost.
import numpy as np
import pytest
import torch
import warp_torch as wp

from tests.gradients.finite_difference import array, zeros

F = wp.float64
X4 = np.array([0.5, 1.5, -2.0, 3.0])


@wp.kernel
def squares(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def weigh(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * F(i + 1))


def by_torch(y):
    with torch.no_grad():
        wp.to_torch(y).mul_(2.0)


CHANGES = {
    "fill": lambda y, x: y.fill_(2.0),
    "launch": lambda y, x: wp.launch(squares, 4, inputs=[x, y]),
    "copy": lambda y, x: wp.copy(y, x),
    "assign": lambda y, x: y.assign(np.ones(4)),
    "torch": lambda y, x: by_torch(y),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_result_that_changes_between_two_parts_of_a_tape(change):
    x, y, loss = array(X4), zeros(4), zeros(1)
    tape = wp.Tape()
    with tape:
        wp.launch(squares, 4, inputs=[x, y])
    change(y, x)
    with tape, pytest.raises(wp.GradientError, match="'x'.*computed on this tape") as e:
        wp.launch(weigh, 4, inputs=[y, loss])
    assert e.value.code == "WT324"
    tape.reset()
    with tape:
        wp.launch(weigh, 4, inputs=[y, loss])
    tape.backward(loss)
    np.testing.assert_array_equal(y.grad.numpy(), [1, 2, 3, 4])


def test_a_launch_that_is_not_recorded():
    x, y, loss = array(X4), zeros(4), zeros(1)
    with wp.Tape(), pytest.raises(wp.GradientError, match="computed on this tape"):
        wp.launch(squares, 4, inputs=[x, y])
        wp.launch(squares, 4, inputs=[x, y], record_tape=False)
        wp.launch(weigh, 4, inputs=[y, loss])


def test_a_change_that_is_recorded_ends_what_was_before():
    x, y, loss = array(X4), zeros(4), zeros(1)
    with wp.Tape() as tape:
        wp.launch(squares, 4, inputs=[x, y])
    y.fill_(3.0)
    with tape:
        y.fill_(2.0)
        wp.launch(weigh, 4, inputs=[y, loss])
    tape.backward(loss)
    assert not x.grad.numpy().any()


RETURNS = {
    "array": lambda y: wp.array(2.0 * y.numpy(), dtype=F, requires_grad=True),
    "from_numpy": lambda y: wp.from_numpy(2.0 * y.numpy(), dtype=F, requires_grad=True),
    "list": lambda y: array([2.0 * v for v in y.list()]),
    "sum": lambda y: array(np.full(4, wp.utils.array_sum(y))),
    "inner": lambda y: array(np.full(4, wp.utils.array_inner(y, y))),
}


@pytest.mark.parametrize("back", RETURNS.values(), ids=RETURNS)
def test_arrays_made_of_what_the_host_has_read(back):
    x, y, loss = array(X4), zeros(4), zeros(1)
    with wp.Tape():
        wp.launch(squares, 4, inputs=[x, y])
        z = back(y)
        with pytest.raises(wp.GradientError, match="'x' was made of host data") as e:
            wp.launch(weigh, 4, inputs=[z, loss])
    assert e.value.code == "WT326"
    assert loss.numpy()[0] == 0.0


def test_a_copy_of_what_the_host_has_read():
    x, y = array(X4), zeros(4)
    with wp.Tape(), pytest.raises(wp.GradientError, match="the source was made of host data"):
        wp.copy(y, wp.array(x.numpy() * 2.0, dtype=F))


def test_arrays_of_host_data_before_anything_is_read():
    x, y, loss = array(X4), zeros(4), zeros(1)
    with wp.Tape() as tape:
        w = array(X4)
        wp.launch(squares, 4, inputs=[x, y])
        wp.launch(weigh, 4, inputs=[w, loss])
        assert np.isfinite(y.numpy()).all()
        constant = wp.array(np.ones(4), dtype=F)
        wp.launch(weigh, 4, inputs=[constant, loss])
        wp.launch(weigh, 4, inputs=[y, loss])
    tape.backward(loss)
    np.testing.assert_array_equal(w.grad.numpy(), [1, 2, 3, 4])
    np.testing.assert_array_equal(x.grad.numpy(), 2 * X4 * [1, 2, 3, 4])


def test_operations_of_pytorch_between_two_launches():
    x, y, loss = array(X4), zeros(4), zeros(1)
    with wp.Tape() as tape:
        wp.launch(squares, 4, inputs=[x, y])
        t = wp.to_torch(y) * 2.0
        with pytest.raises(wp.GradientError, match="cannot follow what PyTorch did") as e:
            wp.from_torch(t.sin() + 1.0)
        wp.launch(weigh, 4, inputs=[wp.from_torch(t.detach()), loss])
    assert e.value.code == "WT326"
    tape.backward(loss)
    assert not x.grad.numpy().any()


def test_a_result_of_pytorch_that_the_tape_starts_from():
    t = torch.tensor(X4, requires_grad=True)
    u = t * t
    loss = zeros(1)
    with wp.Tape() as tape:
        y = wp.from_torch(u)
        wp.launch(weigh, 4, inputs=[y, loss])
    tape.backward(loss)
    u.backward(wp.to_torch(y.grad))
    np.testing.assert_array_equal(t.grad.numpy(), 2 * X4 * [1, 2, 3, 4])


def test_a_gradient_that_another_tape_reads():
    x, y, loss, other = array(X4), zeros(4), zeros(1), zeros(1)
    with wp.Tape():
        with wp.Tape() as tape:
            wp.launch(squares, 4, inputs=[x, y])
            wp.launch(weigh, 4, inputs=[y, loss])
        tape.backward(loss)
        with pytest.raises(wp.GradientError, match=r"backward\(\) computed") as e:
            wp.launch(weigh, 4, inputs=[x.grad, other])
    assert e.value.code == "WT308"


def test_the_gradient_that_a_later_tape_left_is_the_cotangent_of_an_earlier_one():
    x, y, loss = array(X4), zeros(4), zeros(1)
    with wp.Tape() as first:
        wp.launch(squares, 4, inputs=[x, y])
    with wp.Tape() as second:
        wp.launch(weigh, 4, inputs=[y, loss])
    second.backward(loss)
    first.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * X4 * [1, 2, 3, 4])
