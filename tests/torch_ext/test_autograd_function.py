# SPDX-License-Identifier: Apache-2.0
# test_autograd_function.py: the kernels of the op tests as torch.autograd.Functions.
import pytest
import torch
import warp_torch as wt
from torch.autograd import forward_ad
from torch.utils import checkpoint

from tests.torch_ext import op_kernels as k
from tests.torch_ext.op_kernels import rand


def cases():
    x, y = rand(5, grad=True), rand(5, grad=True, seed=1)
    m, v = rand(4, 3, 3, grad=True), rand(4, 3, grad=True)
    g, dt = rand(3, grad=True), torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    f = wt.autograd_function
    return {
        "two results": (f(k.waves), k.waves_torch, (0.5, x, y)),
        "scalar": (f(k.waves), k.waves_torch, (dt, x, y)),
        "sum": (f(k.turn, outputs={"energy": 1}), k.turn_torch, (m, v)),
        "state": (f(k.update), k.update_torch, (x, y)),
        "tape": (f(k.iterate), k.iterate_torch, (x, 3, y)),
        "parameters": (f(k.drift), k.drift_torch, (g, v, dt)),
        "neighbours": (f(k.neighbours, dim="x.shape[0] - 1"), k.neighbours_torch, (x,)),
        "strides": (f(k.waves), k.waves_torch, (0.5, rand(10, grad=True)[::2], y[:1].expand(5))),
        "permuted": (f(k.turn, outputs={"energy": 1}), k.turn_torch, (m.permute(0, 2, 1), v)),
        "no elements": (f(k.waves), k.waves_torch, (0.5, rand(0, grad=True), rand(0))),
    }


@pytest.mark.parametrize("name", list(cases()))
def test_values_and_gradients(name):
    f, reference, args = cases()[name]
    got, wanted = (o if isinstance(o, tuple) else (o,) for o in (f(*args), reference(*args)))
    for a, b in zip(got, wanted):
        torch.testing.assert_close(a, b)
    inputs = [t for t in args if torch.is_tensor(t) and t.requires_grad]
    cotangents = [rand(*b.shape, seed=7) for b in wanted]
    a = torch.autograd.grad(got, inputs, cotangents, retain_graph=True)
    b = torch.autograd.grad(wanted, inputs, cotangents, retain_graph=True)
    for u, v in zip(a, b):
        torch.testing.assert_close(u, v)
    for i in range(len(got)):
        u = torch.autograd.grad(got[i].sum(), inputs[:1], retain_graph=True, allow_unused=True)
        v = torch.autograd.grad(wanted[i].sum(), inputs[:1], retain_graph=True, allow_unused=True)
        # The function has one node, so what a result does not depend on has a gradient of zero.
        torch.testing.assert_close(u[0], torch.zeros_like(u[0]) if v[0] is None else v[0])


def test_gradcheck():
    x, y = rand(4, grad=True), rand(4, grad=True, seed=1)
    assert torch.autograd.gradcheck(wt.autograd_function(k.waves), (0.5, x, y))
    f = wt.autograd_function(k.iterate)
    assert torch.autograd.gradcheck(lambda x, y: f(x, 2, y), (x, y))


def test_it_is_a_function_with_the_names_of_the_op():
    f, op = wt.autograd_function(k.waves), wt.kernel_op(k.waves)
    assert issubclass(f.function, torch.autograd.Function)
    assert f.arguments == op.arguments and f.results == op.results
    torch.testing.assert_close(
        f(0.5, y=rand(3), x=rand(3, seed=1)), op(0.5, rand(3, seed=1), rand(3))
    )


def test_integers_have_no_gradient():
    x = rand(4, dtype=torch.float32, grad=True)
    y, sign = wt.autograd_function(k.label)(x)
    assert y.requires_grad and not sign.requires_grad
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], 2 * x)


def test_no_gradient_wanted():
    f = wt.autograd_function(k.iterate)
    with torch.no_grad():
        out = f(rand(3, grad=True), 2, rand(3, seed=1))
    assert not out.requires_grad
    torch.testing.assert_close(out, k.iterate_torch(rand(3), 2, rand(3, seed=1)))


def test_errors():
    f, x = wt.autograd_function(k.waves), rand(3)
    with pytest.raises(TypeError, match="wanted torch.float64"):
        f(1.0, x, x.float())
    with pytest.raises(ValueError, match="the launch range is 3"):
        f(1.0, x, rand(4))
    with pytest.raises(ValueError, match="wanted 1 dimensions"):
        f(1.0, x[None], x)
    with pytest.raises(wt.GradientError):
        wt.autograd_function(k.unbounded)(x.float(), rand(3, dtype=torch.float32, grad=True))
    with pytest.raises(wt.GradientError, match="no second derivatives; kernel_op"):
        x = rand(3, grad=True)
        g = torch.autograd.grad(f(1.0, x, x)[0].sum(), x, create_graph=True)[0]
        g.sum().backward()


def test_deterministic_sums():
    m, v = rand(64, 3, 3, grad=True), rand(64, 3, seed=1)
    f, g = (
        wt.autograd_function(k.turn, outputs={"energy": 1}, deterministic=d) for d in (True, False)
    )
    for got, wanted in zip(f(m, v), g(m, v)):
        torch.testing.assert_close(got, wanted)
    runs = [torch.autograd.grad(f(m, v)[1].sum(), m)[0] for _ in range(3)]
    assert torch.equal(runs[0], runs[1]) and torch.equal(runs[0], runs[2])
    torch.testing.assert_close(runs[0], torch.autograd.grad(g(m, v)[1].sum(), m)[0])


def test_checkpoint_and_saved_tensor_hooks():
    f, x, y = wt.autograd_function(k.iterate), rand(5, grad=True), rand(5, grad=True, seed=1)
    wanted = torch.autograd.grad(k.iterate_torch(x, 2, y).sum(), (x, y))
    out = checkpoint.checkpoint(lambda x, y: f(x, 2, y), x, y, use_reentrant=False)
    torch.testing.assert_close(torch.autograd.grad(out.sum(), (x, y)), wanted)
    with torch.autograd.graph.save_on_cpu():
        out = f(x, 2, y)
    torch.testing.assert_close(torch.autograd.grad(out.sum(), (x, y)), wanted)


def test_what_only_the_op_can_do_is_refused():
    f, x = wt.autograd_function(k.waves), rand(3)
    for transform in (torch.func.grad, torch.func.jacfwd, torch.vmap):
        with pytest.raises(RuntimeError, match="setup_context"):
            transform(lambda x: f(0.5, x, x)[0].sum())(x)
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="jvp"):
        f(0.5, forward_ad.make_dual(x, x), x)


@pytest.mark.cuda
@pytest.mark.parametrize("name", ["two results", "sum", "tape"])
def test_cuda(name):
    f, reference, args = cases()[name]
    args = [a.detach().cuda().requires_grad_() if torch.is_tensor(a) else a for a in args]
    inputs = [t for t in args if torch.is_tensor(t)]
    with torch.cuda.stream(torch.cuda.Stream()):
        got, wanted = (o if isinstance(o, tuple) else (o,) for o in (f(*args), reference(*args)))
        a = torch.autograd.grad(sum(o.sum() for o in got), inputs)
        b = torch.autograd.grad(sum(o.sum() for o in wanted), inputs)
        for u, v in zip((*got, *a), (*wanted, *b)):
            torch.testing.assert_close(u, v)
