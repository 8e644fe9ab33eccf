# SPDX-License-Identifier: Apache-2.0
# test_graphs.py: captures of the CPU, conditions, and captures of a whole optimisation step.
import numpy as np
import pytest
import warp_torch as wp


@wp.kernel
def add(x: wp.array(dtype=float), s: float):
    i = wp.tid()
    x[i] = x[i] + s


@wp.kernel
def count_down(counter: wp.array(dtype=int), steps: wp.array(dtype=int)):
    counter[0] = counter[0] - 1
    steps[0] = steps[0] + 1


@wp.kernel
def distance(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    d = x[i] - 3.0
    wp.atomic_add(loss, 0, d * d)


def test_a_capture_runs_nothing_and_each_replay_all():
    x, y = wp.zeros(2, device="cpu"), wp.zeros(2, device="cpu")
    with wp.ScopedCapture("cpu") as capture:
        assert wp.get_device("cpu").is_capturing
        wp.launch(add, dim=2, inputs=[x, 1.0], device="cpu")
        y.fill_(5.0)
        wp.copy(y, x, count=1)
        z = wp.clone(y)
        z.assign([7.0, z.shape[0]])
    np.testing.assert_array_equal(x.numpy(), [0, 0])
    np.testing.assert_array_equal(y.numpy(), [0, 0])
    for n in (1.0, 2.0):
        wp.capture_launch(capture.graph)
        np.testing.assert_array_equal(x.numpy(), [n, n])
        np.testing.assert_array_equal(y.numpy(), [n, 5.0])
        np.testing.assert_array_equal(z.numpy(), [7.0, 2.0])


def test_values_are_those_of_the_capture():
    v = wp.zeros(1, dtype=wp.vec3, device="cpu")
    value = wp.vec3(1.0, 2.0, 3.0)
    with wp.ScopedCapture("cpu") as capture:
        v.fill_(value)
    value[0] = 9.0
    wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(v.numpy(), [[1, 2, 3]])


def test_a_captured_optimisation_step():
    x = wp.zeros(3, requires_grad=True, device="cpu")
    loss = wp.zeros(1, requires_grad=True, device="cpu")
    optimizer = wp.optim.SGD([x], lr=0.25)
    with wp.ScopedCapture("cpu") as capture:
        loss.zero_()
        tape = wp.Tape()
        with tape:
            wp.launch(distance, dim=3, inputs=[x], outputs=[loss])
        tape.backward(loss)
        wp.launch(add, dim=0, inputs=[x, 0.0], device="cpu")
        optimizer.step([x.grad])
        tape.zero()
    for n in range(1, 4):
        wp.capture_launch(capture.graph)
        np.testing.assert_allclose(x.numpy(), 3 * (1 - 0.5**n), rtol=1e-6)
        np.testing.assert_allclose(loss.numpy(), 3 * (3 * 0.5 ** (n - 1)) ** 2, rtol=1e-6)
        assert tape.stats()["entries"] == 1


def test_conditions():
    flag, out = wp.array([1], dtype=int), wp.zeros(1, dtype=int)
    wp.capture_if(flag, on_true=lambda: out.fill_(1), on_false=lambda: out.fill_(2))
    assert out.list() == [1]
    flag.zero_()
    wp.capture_if(flag, lambda: out.fill_(3))
    assert out.list() == [1]
    wp.capture_if(flag, on_false=lambda value: out.fill_(value), value=4)
    assert out.list() == [4]

    counter, steps = wp.array([3], dtype=int), wp.zeros(1, dtype=int)

    def body():
        wp.launch(count_down, dim=1, inputs=[counter, steps])

    wp.capture_while(counter, body)
    assert counter.list() == [0] and steps.list() == [3]
    with wp.ScopedCapture("cpu") as capture:
        counter.fill_(2)
        wp.capture_while(counter, body)
    for _ in range(2):
        wp.capture_launch(capture.graph)
    assert counter.list() == [0] and steps.list() == [7]
    with pytest.raises(wp.ArgumentTypeError, match="one int32"):
        wp.capture_while(wp.zeros(2, dtype=int), body)
    with pytest.raises(wp.ArgumentTypeError, match="wanted a Graph"):
        wp.capture_launch(body)
