# SPDX-License-Identifier: Apache-2.0
# test_tape.py: what a tape does with seeds, gradients that are there already, and other tapes.
import gc

import numpy as np
import pytest
import torch
import warp_torch as wp

from tests.gradients.finite_difference import array, zeros

F = wp.float64
pytestmark = pytest.mark.usefixtures("device")
X3 = np.array([1.0, 2.0, 3.0])


@wp.kernel
def double(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = F(2.0) * x[i]


@wp.kernel
def square(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def step(x: wp.array(dtype=F)):
    i = wp.tid()
    x[i] = x[i] * x[i]


@wp.kernel
def total(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    wp.atomic_add(loss, 0, x[wp.tid()])


@wp.kernel
def add_squares(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(y, i, x[i] * x[i])


@wp.kernel
def first_half(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    if i < 2:
        y[i] = F(3.0) * x[i]


@wp.kernel
def double_single(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def doubled():
    x, y = array(X3), zeros(3)
    with wp.Tape() as tape:
        wp.launch(double, 3, inputs=[x], outputs=[y])
    return x, y, tape


def squared_total():
    """loss = sum(x**2), through an intermediate y."""
    x, y, loss = array(X3), zeros(3), zeros(1)
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[x, y])
        wp.launch(total, 3, inputs=[y, loss])
    return x, y, loss, tape


def test_the_first_example():
    x = wp.array([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    y = wp.zeros(3, dtype=float, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(double_single, dim=3, inputs=[x], outputs=[y])
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 2, 2])
    assert x.grad.dtype is wp.float32


@pytest.mark.parametrize("seed", [1.0, 3.0])
def test_a_seed_written_by_hand_is_the_cotangent(seed):
    x, y, tape = doubled()
    y.grad.fill_(seed)
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * seed * np.ones(3))
    np.testing.assert_array_equal(y.grad.numpy(), seed * np.ones(3))
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 4 * seed * np.ones(3))


@pytest.mark.parametrize("clear", ["zero_", "fill_", "slice", "tape"])
def test_a_seed_that_was_zeroed_is_none(clear):
    x, y, tape = doubled()
    y.grad.fill_(5.0)
    if clear == "zero_":
        y.grad.zero_()
    elif clear == "fill_":
        y.grad.fill_(0.0)
    elif clear == "slice":
        y.grad[:].zero_()
    else:
        tape.zero()
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * np.ones(3))


def test_an_output_seen_by_several_views_is_seeded_everywhere():
    x, y = array(X3), zeros(3)
    with wp.Tape() as tape:
        wp.launch(double, 1, inputs=[x[:1], y[:1]])
        wp.launch(double, 2, inputs=[x[1:], y[1:]])
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 2, 2])


def test_a_trajectory_seeds_its_end_alone():
    q = zeros((4, 3))
    q[0].assign(X3)
    with wp.Tape() as tape:
        for t in range(3):
            wp.launch(double, 3, inputs=[q[t], q[t + 1]])
    tape.backward()
    np.testing.assert_array_equal(q.grad.numpy()[0], [8, 8, 8])
    np.testing.assert_array_equal(q.grad.numpy()[1:3], np.zeros((2, 3)))


def test_loss_and_intermediates_afterwards():
    x, y, loss, tape = squared_total()
    tape.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), 2 * X3)
    np.testing.assert_array_equal(y.grad.numpy(), np.zeros(3))
    np.testing.assert_array_equal(loss.grad.numpy(), [1])


@pytest.mark.parametrize("way", ["argument", "attribute"])
def test_an_intermediate_whose_gradient_is_retained(way):
    x, z, loss = array(X3), zeros(3), zeros(1)
    y = wp.zeros(3, dtype=F, requires_grad=True, retain_grad=way == "argument")
    y.retain_grad = True
    for n in range(1, 3):
        with wp.Tape() as tape:
            wp.launch(square, 3, inputs=[x, y])
            wp.launch(square, 3, inputs=[y, z])
            loss.zero_()
            wp.launch(total, 3, inputs=[z, loss])
        tape.backward(loss)
        np.testing.assert_allclose(y.grad.numpy(), n * 2 * X3**2)
        np.testing.assert_allclose(x.grad.numpy(), n * 4 * X3**3)
        assert not z.grad.numpy().any()
    y.retain_grad = False
    tape.zero()
    tape.backward(loss)
    assert not y.grad.numpy().any()


def test_gradients_accumulate():
    x, y, loss, tape = squared_total()
    for n in range(1, 4):
        tape.backward(loss)
        np.testing.assert_array_equal(x.grad.numpy(), n * 2 * X3)
        np.testing.assert_array_equal(loss.grad.numpy(), [1])
    tape.zero()
    assert not x.grad.numpy().any() and not loss.grad.numpy().any()
    tape.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), 2 * X3)


def test_gradients_of_a_state_stepped_in_place_accumulate():
    x, loss = array(X3), zeros(1)
    with wp.Tape() as tape:
        wp.launch(step, 3, inputs=[x])
        wp.launch(step, 3, inputs=[x])
        wp.launch(total, 3, inputs=[x, loss])
    for n in range(1, 4):
        tape.backward(loss)
        np.testing.assert_array_equal(x.grad.numpy(), n * 4 * X3**3)


def test_a_state_is_its_own_default_output():
    x = array(X3)
    with wp.Tape() as tape:
        wp.launch(step, 3, inputs=[x])
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * X3)
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 4 * X3)


def test_a_new_tape_does_not_take_old_gradients_for_cotangents():
    x, y, loss = array(X3), zeros(3), zeros(1)
    for n in range(1, 4):
        with wp.Tape() as tape:
            wp.launch(square, 3, inputs=[x, y])
        tape.backward()  # leaves y.grad == 1
        loss.zero_()
        with wp.Tape() as tape:
            wp.launch(double, 3, inputs=[x, y])
            wp.launch(total, 3, inputs=[y, loss])
        tape.backward(loss)
        np.testing.assert_array_equal(x.grad.numpy(), n * (2 * X3 + 2))


def test_two_losses_one_after_the_other():
    x, a, b = array(X3), zeros(1), zeros(1)
    y = zeros(3)
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[x, y])
        wp.launch(total, 3, inputs=[y, a])
        wp.launch(total, 3, inputs=[x, b])
    tape.backward(a)
    np.testing.assert_array_equal(x.grad.numpy(), 2 * X3)
    x.grad.zero_()
    tape.backward(b)
    np.testing.assert_array_equal(x.grad.numpy(), np.ones(3))


def test_an_array_only_added_to_keeps_the_gradient_of_its_start():
    x, y, loss = array(X3), array(X3), zeros(1)
    with wp.Tape() as tape:
        wp.launch(add_squares, 3, inputs=[x, y])
        wp.launch(step, 3, inputs=[y])
        wp.launch(total, 3, inputs=[y, loss])
    tape.backward(loss)
    end = X3 + X3**2
    np.testing.assert_array_equal(y.grad.numpy(), 2 * end)
    np.testing.assert_array_equal(x.grad.numpy(), 4 * end * X3)


def test_elements_that_a_kernel_leaves_alone_keep_their_gradient():
    x, y, loss = array(X3), array(X3), zeros(1)
    with wp.Tape() as tape:
        wp.launch(first_half, 3, inputs=[x, y])
        wp.launch(total, 3, inputs=[y, loss])
    tape.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), [3, 3, 0])
    np.testing.assert_array_equal(y.grad.numpy(), [0, 0, 1])


def test_cotangents_are_read_only():
    x, y, tape = doubled()
    c = array([1.0, 10.0, 100.0], grad=False)
    for n in (1, 2):
        tape.backward(grads={y: c})
        np.testing.assert_array_equal(x.grad.numpy(), n * np.array([2.0, 20.0, 200.0]))
        np.testing.assert_array_equal(c.numpy(), [1, 10, 100])
    y.grad.assign([1.0, 1.0, 1.0])
    tape.backward(grads={y: y.grad})
    np.testing.assert_array_equal(x.grad.numpy(), 2 * np.array([2.0, 20.0, 200.0]) + 2)


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        (lambda x, y: {"loss": y}, wp.ArgumentValueError, "a loss has one element"),
        (lambda x, y: {"loss": zeros(1, grad=False)}, wp.GradientError, "does not require"),
        (lambda x, y: {"loss": zeros(1)}, wp.GradientError, "recorded nothing with"),
        (lambda x, y: {"grads": {y: zeros(2)}}, wp.ArgumentValueError, "is like its array"),
        (lambda x, y: {"grads": {y: 1.0}}, wp.ArgumentTypeError, "wanted {array: array}"),
        (lambda x, y: {"grads": {y: [1.0]}}, wp.ArgumentValueError, "is like its array"),
        (lambda x, y: {"grads": {zeros(3, grad=False): y}}, wp.GradientError, "does not require"),
        (lambda x, y: {"loss": 3.0}, wp.ArgumentTypeError, "loss"),
    ],
)
def test_wrong_arguments_of_backward(arguments, error, text):
    x, y, tape = doubled()
    with pytest.raises(error, match=text):
        tape.backward(**arguments(x, y))
    assert not x.grad.numpy().any()
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 2, 2])


def test_nested_tapes_record_both():
    x, y, z, loss = array(X3), zeros(3), zeros(3), zeros(1)
    with wp.Tape() as outer:
        wp.launch(square, 3, inputs=[x, y])
        with wp.Tape() as inner:
            wp.launch(double, 3, inputs=[y, z])
        wp.launch(total, 3, inputs=[z, loss])
    inner.backward()
    np.testing.assert_array_equal(y.grad.numpy(), [2, 2, 2])
    inner.zero()
    outer.backward(loss)
    np.testing.assert_array_equal(x.grad.numpy(), 4 * X3)


def test_backward_inside_a_recording_tape():
    x, y, tape = doubled()
    with wp.Tape() as outer:
        tape.backward()
    assert outer.stats()["entries"] == 0
    np.testing.assert_array_equal(x.grad.numpy(), [2, 2, 2])


def test_record_func():
    x, y, z = array(X3), zeros(3), zeros(3)
    calls = []
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[x, y])
        z.numpy()[:] = y.numpy() * 5.0

        def backward():
            calls.append(1)
            y.grad.assign(y.grad.numpy() + 5.0 * z.grad.numpy())

        tape.record_func(backward, arrays=[z])
        loss = zeros(1)
        wp.launch(total, 3, inputs=[z, loss])
    tape.backward(loss)
    assert calls == [1]
    np.testing.assert_array_equal(x.grad.numpy(), 10 * X3)
    assert not z.grad.numpy().any()


def test_an_error_in_record_func_comes_through():
    x = array(X3)
    with wp.Tape() as tape:
        tape.record_func(lambda: 1 / 0, arrays=[x])
    with pytest.raises(ZeroDivisionError):
        tape.backward(grads={x: array(X3)})
    assert not wp._C.recording()


def test_an_exception_inside_a_tape_ends_the_recording():
    with pytest.raises(KeyError), wp.Tape():
        raise KeyError
    assert not wp._C.recording()


def test_nothing_is_recorded_without_gradients():
    x, y = array(X3, grad=False), zeros(3, grad=False)
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[x, y])
    assert tape.stats()["entries"] == 0
    assert x.grad is None and y.grad is None


def test_gradients_and_visualize(tmp_path):
    x, y, tape = doubled()
    tape.backward()
    np.testing.assert_array_equal(tape.gradients[x].numpy(), [2, 2, 2])
    path = tmp_path / "tape.txt"
    assert "double on 3 threads" in tape.visualize(str(path))
    assert "double" in path.read_text()


def test_reset_forgets():
    x, y, tape = doubled()
    tape.backward()
    tape.reset()
    assert tape.stats()["entries"] == 0 and not x.grad.numpy().any()
    with tape:
        wp.launch(square, 3, inputs=[x, y])
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * X3)


def test_a_gradient_given_by_the_user():
    x, y, loss = array(X3), zeros(3), zeros(1)
    g = zeros(3, grad=False)
    x.grad = g
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[x, y])
        wp.launch(total, 3, inputs=[y, loss])
    tape.backward(loss)
    np.testing.assert_array_equal(g.numpy(), 2 * X3)
    with pytest.raises(wp.ArgumentValueError, match="shape and strides"):
        x.grad = zeros(2)


def test_a_view_of_other_type_is_the_same_memory():
    x, y, loss = array(X3), zeros(3), zeros(1)
    with wp.Tape() as tape:
        wp.launch(square, 3, inputs=[x, y])
        wp.launch(total, 3, inputs=[y, loss])
    x.view(wp.int64).fill_(7)
    with pytest.raises(wp.GradientError, match="argument 'x' of square"):
        tape.backward(loss)
    with wp.Tape(), pytest.raises(wp.GradientError, match="written as i64"):
        wp.launch(set_int, 3, inputs=[x.view(wp.int64)])


@wp.kernel
def set_int(x: wp.array(dtype=wp.int64)):
    x[wp.tid()] = wp.int64(3)


def resident_pages():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1])


@pytest.mark.not_sanitized
def test_many_dropped_steps_do_not_grow_the_process():
    x, y, loss = array(X3), zeros(3), zeros(1)

    def steps(n):
        for _ in range(n):
            with wp.Tape() as tape:
                wp.launch(step, 3, inputs=[x])
                wp.launch(square, 3, inputs=[x, y])
                y.zero_()
                wp.launch(total, 3, inputs=[y, loss])
        del tape
        gc.collect()

    steps(200)
    before = resident_pages()
    steps(10_000)
    assert resident_pages() - before < 512  # 2 MB


@pytest.mark.not_sanitized
def test_one_tape_of_many_steps_is_forgotten():
    x, y = array(X3), zeros(3)
    tape = wp.Tape()
    for n in range(3):
        with tape:
            for _ in range(1000):
                wp.launch(square, 3, inputs=[x, y])
        tape.reset()
        if n == 0:
            before = resident_pages()
    assert resident_pages() - before < 512


@pytest.mark.parametrize("way", ["assigned", "through a tensor", "through DLPack"])
def test_cotangents_that_others_have_written(way):
    x, y, tape = doubled()
    given = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, device=wp.device_to_torch(y.device))
    if way == "assigned":
        y.grad = wp.from_torch(given)
    else:
        (wp.to_torch if way == "through a tensor" else torch.from_dlpack)(y.grad).copy_(given)
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 4, 6])
    np.testing.assert_array_equal(given.cpu().numpy(), [1, 2, 3])
