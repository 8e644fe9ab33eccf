# SPDX-License-Identifier: Apache-2.0
# test_array_optim.py: Adam and SGD on arrays against torch.optim.
import numpy as np
import pytest
import torch
import warp_torch as wp

CASES = {
    "adam": (lambda p: wp.optim.Adam(p, lr=0.1), lambda p: torch.optim.Adam(p, lr=0.1)),
    "adam betas": (
        lambda p: wp.optim.Adam(p, lr=0.02, betas=(0.7, 0.9), eps=1e-3),
        lambda p: torch.optim.Adam(p, lr=0.02, betas=(0.7, 0.9), eps=1e-3),
    ),
    "sgd": (lambda p: wp.optim.SGD(p, lr=0.1), lambda p: torch.optim.SGD(p, lr=0.1)),
    "momentum": (
        lambda p: wp.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.01),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.01),
    ),
    "nesterov": (
        lambda p: wp.optim.SGD(p, lr=0.1, momentum=0.8, nesterov=True),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8, nesterov=True),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_steps_equal_those_of_torch(name):
    ours, theirs = CASES[name]
    rng = np.random.default_rng(0)
    starts = [rng.normal(size=4), rng.normal(size=(3, 2)), rng.normal(size=(2, 2, 2))]
    dtypes = [wp.float64, wp.vec2d, wp.mat22d]
    arrays = [wp.array(x, dtype=t, requires_grad=True) for x, t in zip(starts, dtypes)]
    tensors = [torch.tensor(x, requires_grad=True) for x in starts]
    a, b = ours(arrays), theirs(tensors)
    for _ in range(4):
        grads = [rng.normal(size=x.shape) for x in starts]
        for t, g in zip(tensors, grads):
            t.grad = torch.tensor(g)
        a.step([wp.array(g, dtype=t) for g, t in zip(grads, dtypes)])
        b.step()
    for x, t in zip(arrays, tensors):
        np.testing.assert_allclose(x.numpy(), t.detach(), rtol=1e-12)


@wp.kernel
def miss(x: wp.array2d(dtype=float), loss: wp.array(dtype=float)):
    i, j = wp.tid()
    d = x[i, j] - float(i + j)
    wp.atomic_add(loss, 0, d * d)


def test_a_training_loop_over_a_tape():
    x = wp.zeros((2, 3), dtype=float, requires_grad=True)
    adam = wp.optim.Adam([x], lr=0.2)
    for _ in range(200):
        loss = wp.zeros(1, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(miss, dim=(2, 3), inputs=[x, loss])
        tape.backward(loss)
        adam.step()
        tape.zero()
    np.testing.assert_allclose(x.numpy(), [[0, 1, 2], [1, 2, 3]], atol=1e-2)


def test_errors():
    with pytest.raises(wp.ArgumentTypeError, match="floats"):
        wp.optim.Adam([wp.zeros(2, dtype=int)])
    with pytest.raises(wp.ArgumentValueError, match="requires_grad"):
        wp.optim.SGD([wp.zeros(2, dtype=float)]).step()
    with pytest.raises(wp.ArgumentValueError, match="gradients for 1"):
        wp.optim.SGD([wp.zeros(2, dtype=float)]).step([])
