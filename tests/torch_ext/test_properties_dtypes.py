# SPDX-License-Identifier: Apache-2.0
# test_properties_dtypes.py: opcheck and gradients over element types, layouts and kinds of argument.
from typing import Any

import pytest
import torch
import warp_torch as wt

from tests.torch_ext import op_kernels as k
from tests.torch_ext.op_kernels import rand

TYPES = {
    torch.float16: wt.float16,
    torch.bfloat16: wt.bfloat16,
    torch.float32: wt.float32,
}


def kernel_of(t):
    @wt.kernel(module="unique")
    def affine(x: wt.array2d(dtype=t), w: t, y: wt.array2d(dtype=t), near: wt.array2d(dtype=int)):
        i, j = wt.tid()
        y[i, j] = x[i, j] * w + x[i, 0]
        near[i, j] = int(x[i, j])

    return affine


SHAPE = ("x.shape[0]", "x.shape[1]")
OPS = {torch_type: wt.kernel_op(kernel_of(t), dim=SHAPE) for torch_type, t in TYPES.items()}


def views(t):
    """The same values in other layouts."""
    wide = torch.zeros(t.shape[0], 2 * t.shape[1], dtype=t.dtype)
    wide[:, ::2] = t
    return {
        "contiguous": t.clone(),
        "transposed": t.T.contiguous().T,
        "sliced": wide[:, ::2],
        "offset": torch.cat((t[:1], t))[1:],
    }


@pytest.mark.parametrize("dtype", list(TYPES))
def test_element_types_and_layouts(dtype):
    op = OPS[dtype]
    values = (4 * rand(3, 4)).to(dtype)
    for x in views(values).values():
        x = x.detach().requires_grad_()
        w = torch.tensor(1.5, dtype=dtype, requires_grad=True)
        y, near = op(x, w)
        assert y.dtype == dtype and near.dtype == torch.int32 and not near.requires_grad
        assert torch.equal(near, values.int())
        wanted = x.double() * w.double() + x.double()[:, :1]
        tolerance = 4 * torch.finfo(dtype).eps
        torch.testing.assert_close(y.double(), wanted, rtol=tolerance, atol=8 * tolerance)
        g = torch.ones(3, 4, dtype=dtype)
        got = torch.autograd.grad(y, (x, w), g)
        want = torch.autograd.grad(wanted, (x, w), g.double())
        for a, b in zip(got, want):
            torch.testing.assert_close(a, b, rtol=4 * tolerance, atol=8 * tolerance)


@pytest.mark.parametrize("dtype", list(TYPES))
def test_opcheck(dtype):
    op = OPS[dtype]
    for x in views((4 * rand(3, 4)).to(dtype)).values():
        args = (x.detach().requires_grad_(), 1.5)
        assert set(torch.library.opcheck(op.forward_op, args).values()) == {"SUCCESS"}


def test_opcheck_of_numbers_given_as_tensors():
    for op, args in (
        (wt.kernel_op(k.drift), (rand(3, grad=True), rand(4, 3, grad=True), rand(grad=True))),
        (wt.kernel_op(k.scale_by), (rand(grad=True), rand(4, grad=True), rand(4))),
    ):
        node = op(*args).grad_fn
        variant = next(
            o
            for o, _ in op._variants.values()
            if "Tensor dt" in str(o._schema) or "Tensor w" in str(o._schema)
        )
        assert set(torch.library.opcheck(variant, args).values()) == {"SUCCESS"}
        assert node.name().endswith("Backward")


def test_no_elements_in_two_dimensions():
    op = OPS[torch.float32]
    for shape in ((0, 4), (3, 0)):
        x = torch.zeros(shape, requires_grad=True)
        w = torch.tensor(2.0, requires_grad=True)
        y, near = op(x, w)
        assert y.shape == near.shape == shape
        gx, gw = torch.autograd.grad(y.sum(), (x, w))
        assert gx.shape == shape and gw == 0


def test_generic_kernels_say_what_is_missing():
    @wt.kernel(module="unique")
    def generic(x: wt.array(dtype=Any), y: wt.array(dtype=Any)):
        i = wt.tid()
        y[i] = x[i] * x[i]

    with pytest.raises(wt.errors.Error) as caught:
        wt.kernel_op(generic)
    assert "generic" in str(caught.value)
