# SPDX-License-Identifier: Apache-2.0
# test_optim_kernels.py: the optimisers fed by kernels, through an op and through a tape.
import numpy as np
import pytest
import torch
import warp_torch as wt


@wt.kernel
def rosenbrock(x: wt.array(dtype=wt.vec2d), r: wt.array(dtype=wt.vec2d)):
    i = wt.tid()
    p = x[i]
    one = wt.float64(1.0)
    r[i] = wt.vec2d(wt.float64(10.0) * (p[1] - p[0] * p[0]), one - p[0])


STARTS = torch.tensor([[-1.2, 1.0], [2.0, -1.0], [0.0, 3.0]], dtype=torch.float64)


def test_op_feeds_every_method():
    op = wt.kernel_op(rosenbrock)
    batch = wt.optim.least_squares_batch(op, STARTS)
    assert batch.converged.all() and (batch.objective < 1e-20).all()
    for start in STARTS:
        alone = wt.optim.least_squares(lambda x: op(x[None])[0], start)
        assert alone.objective < 1e-20
        summary = wt.optim.minimize(lambda x: (op(x[None]) ** 2).sum(), start)
        assert summary.converged and summary.objective < 1e-10
    assert batch.iterations[2] == alone.iterations


def test_tape_feeds_minimize():
    """Value and gradient from a launch on a tape, with NumPy points."""

    def fun(point):
        x = wt.array(point[None], dtype=wt.vec2d, device="cpu", requires_grad=True)
        r = wt.zeros(1, dtype=wt.vec2d, device="cpu", requires_grad=True)
        with wt.Tape() as tape:
            wt.launch(rosenbrock, dim=1, inputs=[x], outputs=[r], device="cpu")
        values = r.numpy()
        tape.backward(grads={r: wt.array(2 * values, dtype=wt.vec2d, device="cpu")})
        return (values**2).sum(), x.grad

    assert wt.optim.check_gradient(fun, STARTS[0].numpy())
    summary = wt.optim.minimize(fun, STARTS[0].numpy())
    assert isinstance(summary.x, np.ndarray)
    assert summary.objective == pytest.approx(0, abs=1e-10)
