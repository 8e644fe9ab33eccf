# SPDX-License-Identifier: Apache-2.0
# test_autograd_function.py: the kernels of the op tests as functions of every PyTorch version, with
# the library for this one and without it. What the library brings is in the tests of the op, which
# test_autograd_function_properties.py runs.
import importlib

import numpy as np
import pytest
import torch
import warp_torch as wt
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.utils import checkpoint

from tests.support.threads import in_threads
from tests.torch_ext import op_kernels as k
from tests.torch_ext import without_library
from tests.torch_ext.op_kernels import rand

MAKERS = {"library": wt.autograd_function, "no library": without_library.autograd_function}


@pytest.fixture(params=list(MAKERS))
def make(request):
    return MAKERS[request.param]


def cases(f):
    x, y = rand(5, grad=True), rand(5, grad=True, seed=1)
    m, v = rand(4, 3, 3, grad=True), rand(4, 3, grad=True)
    g, dt = rand(3, grad=True), torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
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


@pytest.mark.parametrize("name", list(cases(wt.autograd_function)))
def test_values_and_gradients(name, make):
    f, reference, args = cases(make)[name]
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


@pytest.mark.parametrize("name", ["sum", "tape", "parameters", "strides"])
def test_capsules_where_tensors_do_not_lend_their_memory(name, monkeypatch):
    """PyTorch before DLPack's C exchange."""
    monkeypatch.setattr(importlib.import_module("warp_torch.autograd_function"), "_LENT", False)
    test_values_and_gradients(name, without_library.autograd_function)


def test_gradcheck(make):
    x, y = rand(4, grad=True), rand(4, grad=True, seed=1)
    assert torch.autograd.gradcheck(make(k.waves), (0.5, x, y))
    f = make(k.iterate)
    assert torch.autograd.gradcheck(lambda x, y: f(x, 2, y), (x, y))


def test_it_is_a_function_with_the_names_of_the_op(make):
    f, op = make(k.waves), wt.kernel_op(k.waves)
    assert issubclass(f.function, torch.autograd.Function)
    assert f.arguments == op.arguments and f.results == op.results
    torch.testing.assert_close(
        f(0.5, y=rand(3), x=rand(3, seed=1)), op(0.5, rand(3, seed=1), rand(3))
    )


def test_integers_have_no_gradient(make):
    x = rand(4, dtype=torch.float32, grad=True)
    y, sign = make(k.label)(x)
    assert y.requires_grad and not sign.requires_grad
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], 2 * x)


def test_no_gradient_wanted(make):
    f = make(k.iterate)
    with torch.no_grad():
        out = f(rand(3, grad=True), 2, rand(3, seed=1))
    assert not out.requires_grad
    torch.testing.assert_close(out, k.iterate_torch(rand(3), 2, rand(3, seed=1)))


def test_errors(make):
    f, x = make(k.waves), rand(3)
    with pytest.raises(wt.ArgumentTypeError, match="wanted (torch.float64|Double)") as e:
        f(1.0, x, x.float())
    assert e.value.code == "WT802"
    with pytest.raises(wt.ArgumentValueError, match="the launch range is 3"):
        f(1.0, x, rand(4))
    with pytest.raises(wt.ArgumentValueError, match="wanted 1"):
        f(1.0, x[None], x)
    with pytest.raises(wt.GradientError, match="(?s)op_kernels.py:.*loop_bound") as e:
        make(k.unbounded)(x.float(), rand(3, dtype=torch.float32, grad=True))
    assert e.value.code == "WT305" and e.value.lineno


def test_arrays_of_other_libraries(make):
    """On their memory: NumPy's, our own, and what else speaks DLPack. Tensors may be among them."""

    class Foreign:
        def __init__(self, data):
            self.data = data

        def __dlpack__(self, **options):
            return self.data.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.data.__dlpack_device__()

    f, x, y = make(k.waves), rand(4, grad=True), rand(4, seed=1)
    wanted = k.waves_torch(0.5, x, y)
    data = y.numpy()
    fixed = data.copy()
    fixed.flags.writeable = False
    for other in (data, data.copy()[::1], fixed, np.stack((data, data), 1)[:, 0], Foreign(data)):
        got = f(0.5, x, other)
        torch.testing.assert_close(got, wanted)
        (gradient,) = torch.autograd.grad(got[0].sum(), x)
        torch.testing.assert_close(
            gradient, torch.autograd.grad(wanted[0].sum(), x, retain_graph=True)[0]
        )
    torch.testing.assert_close(f(np.array(0.5), x, wt.array(data, dtype=wt.float64)), wanted)
    with pytest.raises(wt.ArgumentTypeError, match="'y' is a tensor"):
        f(0.5, x, data.astype(np.float32))
    m, v = rand(4, 3, 3), wt.array(rand(4, 3).numpy(), dtype=wt.vec3d, requires_grad=True)
    turned, _ = make(k.turn, outputs={"energy": 1})(m, v)
    turned.sum().backward()
    torch.testing.assert_close(wt.to_torch(v.grad), m.sum(1))


def test_both_kinds_in_one_graph():
    """The op and the function, with and without the library, differentiate each other's results."""
    x, y = rand(4, grad=True), rand(4, grad=True, seed=1)

    def f(a, b, c):
        return c(0.5, *b(0.5, *a(0.5, x, y)))[0].sum()

    kinds = [wt.kernel_op(k.waves), *(make(k.waves) for make in MAKERS.values())]
    got = torch.autograd.grad(f(*kinds), (x, y))
    torch.testing.assert_close(got, torch.autograd.grad(f(*3 * [k.waves_torch]), (x, y)))


def test_deterministic_sums(make):
    m, v = rand(64, 3, 3, grad=True), rand(64, 3, seed=1)
    f, g = (make(k.turn, outputs={"energy": 1}, deterministic=d) for d in (True, False))
    for got, wanted in zip(f(m, v), g(m, v)):
        torch.testing.assert_close(got, wanted)
    runs = [torch.autograd.grad(f(m, v)[1].sum(), m)[0] for _ in range(3)]
    assert torch.equal(runs[0], runs[1]) and torch.equal(runs[0], runs[2])
    torch.testing.assert_close(runs[0], torch.autograd.grad(g(m, v)[1].sum(), m)[0])


def test_checkpoint_and_saved_tensor_hooks(make):
    f, x, y = make(k.iterate), rand(5, grad=True), rand(5, grad=True, seed=1)
    wanted = torch.autograd.grad(k.iterate_torch(x, 2, y).sum(), (x, y))
    out = checkpoint.checkpoint(lambda x, y: f(x, 2, y), x, y, use_reentrant=False)
    torch.testing.assert_close(torch.autograd.grad(out.sum(), (x, y)), wanted)
    with torch.autograd.graph.save_on_cpu():
        out = f(x, 2, y)
    torch.testing.assert_close(torch.autograd.grad(out.sum(), (x, y)), wanted)


def test_what_only_the_library_can_do_is_refused():
    f, x = without_library.autograd_function(k.waves), rand(3, grad=True)
    g = torch.autograd.grad(f(1.0, x, x)[0].sum(), x, create_graph=True)[0]
    with pytest.raises(wt.GradientError, match="no second derivatives; kernel_op"):
        g.sum().backward()
    x = x.detach()
    for tensor in (x.to("meta"), FakeTensorMode().from_tensor(x)):
        with pytest.raises(wt.ArgumentTypeError, match="no library for this PyTorch"):
            f(0.5, tensor, tensor)
    with (
        torch.autocast("cpu", torch.bfloat16),
        pytest.raises(TypeError, match="wanted torch.float64"),
    ):
        f(0.5, x, x.float())
    with pytest.raises(torch._dynamo.exc.TorchDynamoException):
        torch.compile(f, fullgraph=True, backend="eager")(0.5, x, x)
    for transform in (torch.func.grad, torch.func.jacfwd, torch.vmap):
        with pytest.raises(RuntimeError, match="setup_context"):
            transform(lambda x: f(0.5, x, x)[0].sum())(x)
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match="jvp"):
        f(0.5, forward_ad.make_dual(x, x), x)


def test_compiled_functions_break_their_graph_where_there_is_no_library():
    f, x = without_library.autograd_function(k.waves), rand(4, grad=True)
    out = torch.compile(lambda x: f(0.5, x.sin(), x)[0].cos(), backend="eager")(x)
    wanted = k.waves_torch(0.5, x.sin(), x)[0].cos()
    torch.testing.assert_close(out, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(out.sum(), x), torch.autograd.grad(wanted.sum(), x)
    )


def test_names_in_profiler_and_anomaly_mode(make):
    f, x = make(k.waves), rand(4, grad=True)
    with torch.profiler.profile() as profile:
        s, _ = f(0.5, x, x)
        s.sum().backward()
    assert s.grad_fn.name() == "wavesBackward"
    assert any("wavesBackward" in e.name for e in profile.events())
    with torch.autograd.detect_anomaly(check_nan=True), pytest.warns(UserWarning):
        s, _ = f(float("nan"), x, x)
        with pytest.raises(RuntimeError, match="'wavesBackward' returned nan values"):
            s.sum().backward()


def test_threads(make):
    f = make(k.waves)

    def work(seed):
        for i in range(5):
            x, y = rand(50, grad=True, seed=seed), rand(50, grad=True, seed=seed + i)
            got, wanted = f(0.5, x, y)[0].sum(), k.waves_torch(0.5, x, y)[0].sum()
            got, wanted = (torch.autograd.grad(o, (x, y)) for o in (got, wanted))
            torch.testing.assert_close(got, wanted)

    in_threads(work, [10 * i for i in range(4)])


@pytest.mark.cuda
@pytest.mark.parametrize("name", ["two results", "sum", "tape"])
def test_cuda(name, make):
    f, reference, args = cases(make)[name]
    args = [a.detach().cuda().requires_grad_() if torch.is_tensor(a) else a for a in args]
    inputs = [t for t in args if torch.is_tensor(t)]
    with torch.cuda.stream(torch.cuda.Stream()):
        got, wanted = (o if isinstance(o, tuple) else (o,) for o in (f(*args), reference(*args)))
        a = torch.autograd.grad(sum(o.sum() for o in got), inputs)
        b = torch.autograd.grad(sum(o.sum() for o in wanted), inputs)
        for u, v in zip((*got, *a), (*wanted, *b)):
            torch.testing.assert_close(u, v)
