# SPDX-License-Identifier: Apache-2.0
# test_modules.py: options and loading of modules, kernels made by hand, launches kept off tapes.
import warnings

import numpy as np
import pytest
import warp_torch as wp


def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def test_options_of_a_module():
    before = wp.get_module_options()
    assert before["enable_backward"] is True and before["max_unroll"] == 16
    wp.set_module_options({"enable_backward": False})
    try:
        assert wp.get_module_options()["enable_backward"] is False
        k = wp.kernel(double)
        assert not k.enable_backward
        assert wp.kernel(enable_backward=True)(double).enable_backward
    finally:
        wp.set_module_options(before)
    assert wp.Kernel(func=double, key="twice").key == "twice"
    with pytest.raises(wp.ArgumentValueError, match="did you mean 'fast_math'"):
        wp.set_module_options({"fast_mth": True})
    with pytest.raises(wp.ArgumentValueError, match="no option 'bogus'"):
        wp.kernel(bogus=1)(double)


def test_a_kernel_without_backward_stays_off_tapes_and_says_so():
    k = wp.kernel(enable_backward=False)(double)
    x = wp.array([1.0, 2.0], dtype=float, requires_grad=True, device="cpu")
    y = wp.zeros(2, dtype=float, requires_grad=True, device="cpu")
    tape = wp.Tape()
    with tape, pytest.warns(UserWarning, match="enable_backward=False"):
        wp.launch(k, dim=2, inputs=[x, y], device="cpu")
    assert y.numpy().tolist() == [2, 4]
    tape.backward(grads={y: wp.ones_like(y)})
    assert x.grad.numpy().tolist() == [0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wp.launch(k, dim=2, inputs=[x, y], device="cpu")


def test_loading_ahead():
    k = wp.kernel(double)
    module = wp.get_module(__name__)
    assert k.module is module and module.kernels["double"] is k
    wp.load_module(device="cpu")
    wp.force_load("cpu", modules=[__name__])
    y = wp.zeros(2, dtype=float, device="cpu")
    wp.launch(k, dim=2, inputs=[wp.array([1.0, 3.0], dtype=float, device="cpu"), y], device="cpu")
    np.testing.assert_array_equal(y.numpy(), [2, 6])
