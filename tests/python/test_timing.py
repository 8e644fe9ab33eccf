# SPDX-License-Identifier: Apache-2.0
# test_timing.py: ScopedTimer, and captures of launches.
import time

import numpy as np
import pytest
import warp_torch as wp


def test_a_timer(capsys):
    times = {}
    with wp.ScopedTimer("outer", synchronize=True) as outer:
        with wp.ScopedTimer("inner", dict=times):
            time.sleep(0.02)
    assert 20 <= times["inner"][0] <= outer.elapsed
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("    inner took ") and lines[1].startswith("outer took ")
    with wp.ScopedTimer("silent", print=False, dict=times), wp.ScopedTimer("off", active=False):
        pass
    assert capsys.readouterr().out == "" and list(times) == ["inner", "silent"]


@wp.kernel
def add(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = y[i] + x[i]


def test_a_capture_that_was_not_begun():
    with pytest.raises(wp.DeviceError, match="no capture"):
        wp.capture_end()


@pytest.mark.cuda
def test_a_capture_is_run_again():
    x = wp.array([1.0, 2.0], dtype=float, device="cuda", requires_grad=True)
    y = wp.zeros(2, dtype=float, device="cuda", requires_grad=True)
    with wp.ScopedCapture("cuda") as capture:
        wp.launch(add, dim=2, inputs=[x, y])
        wp.launch(add, dim=2, inputs=[x, y])
    np.testing.assert_array_equal(y.numpy(), [0, 0])
    for _ in range(3):
        wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(y.numpy(), [6, 12])
    tape = wp.Tape()
    with wp.ScopedCapture("cuda") as capture:
        with tape:
            wp.launch(add, dim=2, inputs=[x, y])
        tape.backward(grads={y: x})
    wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(x.grad.numpy(), [1, 2])
