# SPDX-License-Identifier: Apache-2.0
# finite_difference.py: gradients of a tape beside central differences of the same launches.
import numpy as np
import warp_torch as wp


def array(values, dtype=wp.float64, grad=True):
    return wp.array(np.asarray(values), dtype=dtype, requires_grad=grad)


def zeros(shape, dtype=wp.float64, grad=True):
    return wp.zeros(shape, dtype=dtype, requires_grad=grad)


def taped(run, inputs, dtype=wp.float64, tape=None):
    """Runs `run(*arrays) -> loss` on a tape and backwards. Gives loss, gradients and the tape."""
    arrays = [array(x, dtype) for x in inputs]
    tape = wp.Tape() if tape is None else tape
    with tape:
        loss = run(*arrays)
    before = [a.numpy().copy() for a in arrays]
    tape.backward(loss)
    for a, was in zip(arrays, before):
        np.testing.assert_array_equal(a.numpy(), was, "backward changed a primal array")
    return loss.numpy()[0], [a.grad.numpy().copy() for a in arrays], tape


def differences(run, inputs, eps=1e-6):
    """Central differences of the loss in float64, one input element at a time."""

    def loss(values):
        return float(run(*[array(x, grad=False) for x in values]).numpy()[0])

    inputs = [np.array(x, dtype=np.float64) for x in inputs]
    out = []
    for x in inputs:
        g = np.zeros_like(x)
        for i in np.ndindex(x.shape):
            at = x[i]
            x[i] = at + eps
            up = loss(inputs)
            x[i] = at - eps
            g[i] = (up - loss(inputs)) / (2 * eps)
            x[i] = at
        out.append(g)
    return out


def check(run, *inputs, rtol=1e-6):
    """The tape's gradients of `run(*arrays) -> loss` are those of its differences. Returns both."""
    _, got, tape = taped(run, inputs)
    wanted = differences(run, inputs)
    for n, (g, w) in enumerate(zip(got, wanted)):
        assert np.all(np.isfinite(g)), f"input {n}: {g}"
        scale = max(1e-3, float(np.max(np.abs(w), initial=0)))
        np.testing.assert_allclose(g, w, rtol=0, atol=rtol * scale, err_msg=f"input {n}")
    return got, tape
