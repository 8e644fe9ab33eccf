# SPDX-License-Identifier: Apache-2.0
# test_properties_gradients.py: gradients of ops whose threads meet in one element, or read one
# parameter in many places, for every choice of inputs that need one and cotangents of any layout.
import itertools

import pytest
import torch
import warp_torch as wt

from tests.torch_ext import op_kernels as k
from tests.torch_ext.op_kernels import rand


def same_gradients(got, wanted, inputs, cotangent):
    for create_graph in (False, True):
        a = torch.autograd.grad(
            got, inputs, cotangent, retain_graph=True, create_graph=create_graph
        )
        b = torch.autograd.grad(wanted, inputs, cotangent, retain_graph=True)
        torch.testing.assert_close(a, b)


def test_several_threads_write_one_element():
    op = wt.kernel_op(k.pairs, outputs={"y": "x.shape[0] // 2"})
    x = rand(8, grad=True)
    got, wanted = op(x), (x * x).view(4, 2).sum(1)
    torch.testing.assert_close(got, wanted)
    same_gradients(got, wanted, x, rand(4, seed=3))
    assert torch.autograd.gradcheck(op, x)
    assert torch.autograd.gradgradcheck(op, x)


@pytest.mark.parametrize("needs", list(itertools.product((False, True), repeat=3))[1:])
def test_every_mask_of_a_parameter_read_in_several_places(needs):
    values = rand(6), rand(6, seed=1), rand(6, seed=2)
    inputs = [t.clone().requires_grad_(n) for t, n in zip(values, needs)]
    y = rand(6, seed=3)
    got, wanted = wt.kernel_op(k.pivot)(*inputs, y), k.pivot_torch(*inputs, y)
    torch.testing.assert_close(got, wanted)
    same_gradients(got, wanted, [t for t in inputs if t.requires_grad], rand(6, seed=4))


def test_a_value_that_is_overwritten_has_no_gradient():
    x, y = rand(5, grad=True), rand(5, grad=True, seed=1)
    got = wt.kernel_op(k.pivot)(x, rand(5, seed=2), rand(5, seed=3), y)
    assert torch.equal(torch.autograd.grad(got.sum(), y)[0], torch.zeros_like(y))


def layouts(n):
    g = rand(n, 3, seed=8)
    wide = rand(n, 2, 3, seed=9)
    return {
        "expanded rows": g[:1].expand(n, 3),
        "expanded components": g[:, :1].expand(n, 3),
        "one number": torch.tensor(2.0, dtype=torch.float64).expand(n, 3),
        "slices": wide[:, 1],
        "transposed": rand(3, n, seed=10).T,
        "offset": rand(n + 2, 3)[2:],
    }


@pytest.mark.parametrize("name", list(layouts(4)))
def test_cotangents_of_vectors_in_any_layout(name):
    g = layouts(4)[name]
    before = g.clone()
    x = rand(4, 3, grad=True)
    op = wt.kernel_op(k.overwrite, dim="x.shape[0]")
    got, wanted = op(x), 2 * torch.linalg.cross(x, x[:1].expand(4, 3))
    torch.testing.assert_close(got, wanted)
    same_gradients(got, wanted, x, g)
    assert torch.equal(g, before)


def test_pieces_of_one_cotangent():
    """cat and split hand slices of one buffer to several ops."""
    x = rand(6, grad=True)
    op = wt.kernel_op(k.update)

    def f(update):
        a, b = x.split(3)
        return (torch.cat((update(a, b), update(b, a))) * torch.arange(6.0)).sum()

    torch.testing.assert_close(
        torch.autograd.grad(f(op), x), torch.autograd.grad(f(k.update_torch), x)
    )


def test_one_tensor_for_two_arguments():
    x = rand(4, grad=True)
    got, wanted = wt.kernel_op(k.update)(x, x), k.update_torch(x, x)
    same_gradients(got, wanted, x, rand(4, seed=1))


def test_gradients_accumulate_over_calls():
    x = rand(4, grad=True)
    op = wt.kernel_op(k.update)
    for _ in range(3):
        op(x, rand(4, seed=1)).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((4,), 3.0, dtype=torch.float64))


@pytest.mark.parametrize("shape", [(0,), (1,)])
def test_none_and_one_element(shape):
    x, y = rand(*shape, grad=True), rand(*shape, grad=True, seed=1)
    got, wanted = wt.kernel_op(k.waves)(0.5, x, y), k.waves_torch(0.5, x, y)
    torch.testing.assert_close(got, wanted)
    same_gradients(got[0], wanted[0], (x, y), rand(*shape, seed=2))


def test_large_sums_are_right():
    """Above what one thread takes: partial gradients of shared elements meet."""
    n = 200_000
    x, w, b = (rand(n, seed=s, grad=True) for s in range(3))
    got = wt.kernel_op(k.pivot)(x, w, b, rand(n))
    wanted = k.pivot_torch(x, w, b, None)
    torch.testing.assert_close(got, wanted)
    a, c = (torch.autograd.grad(o.sum(), (x, w, b)) for o in (got, wanted))
    torch.testing.assert_close(a, c, rtol=1e-9, atol=1e-6)
