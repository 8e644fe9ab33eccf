# SPDX-License-Identifier: Apache-2.0
# test_op_derivatives.py: numerical checks of the op's derivatives of both modes and of higher order.
import pytest
import torch
import warp_torch as wt
from torch.autograd import forward_ad, gradcheck, gradgradcheck

from tests.torch_ext import op_kernels as k
from tests.torch_ext.op_kernels import rand


def cases():
    turn = wt.kernel_op(k.turn, outputs={"energy": 1})
    dt = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    x, y = rand(4, grad=True), rand(4, grad=True, seed=1)
    return {
        "two results": (wt.kernel_op(k.waves), k.waves_torch, (dt, x, y)),
        "number": (
            lambda x, y: wt.kernel_op(k.waves)(0.3, x, y),
            lambda x, y: k.waves_torch(0.3, x, y),
            (x, y),
        ),
        "sum": (turn, k.turn_torch, (rand(2, 3, 3, grad=True), rand(2, 3, grad=True))),
        "state": (wt.kernel_op(k.update), k.update_torch, (x, y)),
        "tape": (
            lambda x, s: wt.kernel_op(k.iterate)(x, 3, s),
            lambda x, s: k.iterate_torch(x, 3, s),
            (x, y),
        ),
        "parameters": (
            wt.kernel_op(k.drift),
            k.drift_torch,
            (rand(3, grad=True), rand(3, 3, grad=True), dt),
        ),
        "neighbours": (wt.kernel_op(k.neighbours, dim="x.shape[0] - 1"), k.neighbours_torch, (x,)),
    }


CASES = list(cases())


@pytest.fixture(params=CASES)
def case(request):
    return cases()[request.param]


def test_gradcheck(case):
    op, _, inputs = case
    assert gradcheck(
        op,
        inputs,
        check_forward_ad=True,
        check_batched_grad=True,
        check_undefined_grad=True,
        check_batched_forward_grad=True,
    )
    assert gradcheck(op, inputs, fast_mode=True)


def test_gradgradcheck(case):
    op, _, inputs = case
    assert gradgradcheck(op, inputs, check_fwd_over_rev=True, check_rev_over_rev=True)


def test_third_order():
    x = rand(3, grad=True)
    op = wt.kernel_op(k.waves)

    def third(f):
        g = f(0.5, x, x)[0].sum()
        for _ in range(3):
            g = torch.autograd.grad(g, x, create_graph=True)[0].sum()
        return g

    torch.testing.assert_close(third(op), third(k.waves_torch))


def test_torch_func(case):
    op, reference, inputs = case
    inputs = tuple(t.detach() for t in inputs)
    everything = tuple(range(len(inputs)))
    for transform in (torch.func.jacrev, torch.func.jacfwd):
        a, b = transform(op, everything)(*inputs), transform(reference, everything)(*inputs)
        torch.testing.assert_close(a, b)

    def scalar(f):
        def total(*args):
            out = f(*args)
            return sum(o.sin().sum() for o in (out if isinstance(out, tuple) else (out,)))

        return total

    a = torch.func.grad(scalar(op), everything)(*inputs)
    torch.testing.assert_close(a, torch.func.grad(scalar(reference), everything)(*inputs))
    a = torch.func.hessian(scalar(op), everything)(*inputs)
    torch.testing.assert_close(a, torch.func.hessian(scalar(reference), everything)(*inputs))


def test_vmap(case):
    op, reference, inputs = case
    batched = tuple(torch.stack((t.detach(), 2 * t.detach())) for t in inputs)
    torch.testing.assert_close(torch.vmap(op)(*batched), torch.vmap(reference)(*batched))

    def grad(f):
        def total(*args):
            out = f(*args)
            return sum(o.sin().sum() for o in (out if isinstance(out, tuple) else (out,)))

        return torch.vmap(torch.func.grad(total))

    torch.testing.assert_close(grad(op)(*batched), grad(reference)(*batched))


def test_dual_numbers():
    x, t = rand(4), rand(4, seed=5)
    with forward_ad.dual_level():
        out = wt.kernel_op(k.waves)(0.5, forward_ad.make_dual(x, t), rand(4, seed=1))
        wanted = k.waves_torch(0.5, forward_ad.make_dual(x, t), rand(4, seed=1))
        for a, b in zip(out, wanted):
            torch.testing.assert_close(
                forward_ad.unpack_dual(a).primal, forward_ad.unpack_dual(b).primal
            )
            torch.testing.assert_close(
                forward_ad.unpack_dual(a).tangent, forward_ad.unpack_dual(b).tangent
            )


def test_forward_mode_of_a_change_in_place_is_refused():
    op = wt.kernel_op(k.update, mutates=("s",))
    with forward_ad.dual_level():
        with pytest.raises(NotImplementedError, match="without mutates="):
            op(forward_ad.make_dual(rand(3), rand(3)), rand(3))


def test_backward_twice():
    x = rand(3, grad=True)
    for op, args in ((wt.kernel_op(k.waves), (0.5, x, x)), (wt.kernel_op(k.iterate), (x, 2, x))):
        out = op(*args)
        out = out[0] if isinstance(out, tuple) else out
        out.sum().backward(retain_graph=True)
        out.sum().backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            out.sum().backward()


@wt.kernel
def extremes(x: wt.array(dtype=wt.float64), high: wt.array(dtype=wt.float64)):
    i = wt.tid()
    wt.atomic_max(high, i % 2, x[i] * x[i])


def extremes_torch(x, high):
    squares = x * x
    return torch.maximum(high, torch.stack([squares[::2].amax(), squares[1::2].amax()]))


@pytest.mark.parametrize("make", [wt.kernel_op, wt.autograd_function])
def test_extremes_need_what_the_launch_left(make):
    op = make(extremes, dim="x.shape[0]")
    x, w = rand(6, grad=True), rand(2, seed=2)
    high = torch.tensor([-1.0, 9.0], dtype=torch.float64, requires_grad=True)
    got = torch.autograd.grad(op(x, high), (x, high), w)
    wanted = torch.autograd.grad(extremes_torch(x, high), (x, high), w)
    for a, b in zip(got, wanted):
        torch.testing.assert_close(a, b)


def test_extremes_of_an_argument_changed_in_place():
    op = wt.kernel_op(extremes, dim="x.shape[0]", mutates=("high",))
    x, w = rand(6, grad=True), rand(2, seed=2)
    high = torch.tensor([-1.0, 9.0], dtype=torch.float64)
    op(x, state := high.clone())
    (got,) = torch.autograd.grad(state, x, w)
    (wanted,) = torch.autograd.grad(extremes_torch(x, high), x, w)
    torch.testing.assert_close(got, wanted)


@wt.kernel
def waves_along_rows(x: wt.array(dtype=float, ndim=2), y: wt.array(dtype=float)):
    i = wt.tid()
    v = 1.0
    for j in range(x.shape[1]):
        v = wt.sin(v * x[i, j])
    y[i] = v


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def test_more_rows_than_a_gpu_walks_along_at_a_time(device):
    generator = torch.Generator().manual_seed(3)
    x = torch.rand(1 << (19 if device == "cuda" else 9), 40, generator=generator).to(device)
    x.requires_grad_()
    v = torch.ones(len(x), device=device)
    for j in range(x.shape[1]):
        v = torch.sin(v * x[:, j])
    (wanted,) = torch.autograd.grad(v.sum(), x)
    y = wt.kernel_op(waves_along_rows)(x)
    (got,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(y, v)
    torch.testing.assert_close(got, wanted)
