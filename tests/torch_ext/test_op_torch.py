# SPDX-License-Identifier: Apache-2.0
# test_op_torch.py: the op as a citizen of PyTorch: opcheck, compile, fake tensors, export, hooks,
# autocast, pickling, profiling, threads.
import copy
import pickle
import sys
import threading

import pytest
import torch
import torch._dynamo.testing
import warp_torch as wt
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.support.threads import in_threads
from tests.torch_ext import op_kernels as k
from tests.torch_ext.op_kernels import rand

waves_op = wt.kernel_op(k.waves)


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()


def everything():
    x, y = rand(5, grad=True), rand(5, grad=True, seed=1)
    m, v = rand(4, 3, 3, grad=True), rand(4, 3, grad=True)
    turn = wt.kernel_op(k.turn, outputs={"energy": 1})
    f = wt.kernel_op(k.label)
    return {
        "two results": (waves_op.forward_op, (0.5, x, y)),
        "sum": (turn.forward_op, (m, v)),
        "state": (wt.kernel_op(k.update).forward_op, (x, y)),
        "tape": (wt.kernel_op(k.iterate).forward_op, (x, 3, y)),
        "integers": (f.forward_op, (x.detach().float().requires_grad_(),)),
        "no elements": (waves_op.forward_op, (0.5, rand(0, grad=True), rand(0))),
        "strides": (waves_op.forward_op, (0.5, rand(10, grad=True)[::2], y[:1].expand(5))),
        "permuted": (turn.forward_op, (m.permute(0, 2, 1), v)),
    }


@pytest.mark.parametrize("name", list(everything()))
def test_opcheck(name):
    op, args = everything()[name]
    results = torch.library.opcheck(op, args)
    assert set(results.values()) == {"SUCCESS"}


def test_opcheck_of_the_backward_op():
    x, y = rand(5), rand(5, seed=1)
    torch.library.opcheck(waves_op.backward_op, (x, y, 0.5, x, y, [True, False]))
    torch.library.opcheck(waves_op.backward_op, (None, y, 0.5, x, y, [True, True]))


def loss_of(f, x, y):
    s, d = f(0.5, x * 2, y)
    return (s * d).sum()


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_compile(backend):
    x, y = rand(5, grad=True), rand(5, grad=True, seed=1)
    compiled = torch.compile(loss_of, fullgraph=True, backend=backend)
    got = compiled(waves_op, x, y)
    wanted = loss_of(k.waves_torch, x, y)
    torch.testing.assert_close(got, wanted)
    for a, b in zip(torch.autograd.grad(got, (x, y)), torch.autograd.grad(wanted, (x, y))):
        torch.testing.assert_close(a, b)


def test_compile_with_a_tape_and_parameters():
    iterate, drift = wt.kernel_op(k.iterate), wt.kernel_op(k.drift)

    def loss(f, g, x, s, v, w):
        return f(x, 3, s).square().sum() + g((0.0, -9.8, 1.0), v, w).square().sum()

    x, s, v = rand(5, grad=True), rand(5, grad=True, seed=1), rand(2, 3, grad=True)
    w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    got = torch.compile(loss, fullgraph=True, backend="aot_eager")(iterate, drift, x, s, v, w)
    gravity = torch.tensor([0.0, -9.8, 1.0], dtype=torch.float64)
    wanted = loss(k.iterate_torch, lambda g, v, w: k.drift_torch(gravity, v, w), x, s, v, w)
    torch.testing.assert_close(got, wanted)
    inputs = (x, s, v, w)
    for a, b in zip(torch.autograd.grad(got, inputs), torch.autograd.grad(wanted, inputs)):
        torch.testing.assert_close(a, b)


def test_one_compile_for_all_sizes():
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(loss_of, fullgraph=True, dynamic=True, backend=counter)
    for n in (4, 7, 11):
        x, y = rand(n, grad=True), rand(n, grad=True, seed=1)
        got, wanted = compiled(waves_op, x, y), loss_of(k.waves_torch, x, y)
        torch.testing.assert_close(torch.autograd.grad(got, x), torch.autograd.grad(wanted, x))
    assert counter.frame_count == 1


def test_unbacked_sizes():
    op = wt.kernel_op(k.neighbours, dim="x.shape[0] - 1")

    @torch.compile(fullgraph=True, backend="aot_eager")
    def f(x):
        return op(x[torch.nonzero(x > 0)[:, 0]])

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        x = rand(20)
        torch.testing.assert_close(f(x), k.neighbours_torch(x[x > 0]))


def test_compiled_autograd():
    x, y = rand(5, grad=True), rand(5, grad=True, seed=1)
    s = rand(5, grad=True, seed=2)
    loss = loss_of(waves_op, x, y) + wt.kernel_op(k.iterate)(x, 2, s).sum()
    reference = loss_of(k.waves_torch, x, y) + k.iterate_torch(x, 2, s).sum()
    wanted = torch.autograd.grad(reference, (x, y, s))
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
        loss.backward()
    for t, g in zip((x, y, s), wanted):
        torch.testing.assert_close(t.grad, g)


def test_func_transforms_in_compile():
    x, y = rand(5), rand(5, seed=1)

    def grad(f):
        return torch.func.grad(lambda x: loss_of(f, x, y))

    torch.testing.assert_close(
        torch.compile(grad(waves_op), fullgraph=True, backend="aot_eager")(x),
        grad(k.waves_torch)(x),
    )


def test_fake_tensors_of_a_gpu():
    """Shapes and devices without a GPU, forward and backward."""
    with FakeTensorMode():
        x = torch.empty(5, dtype=torch.float64, device="cuda")
        s, d = waves_op(0.5, x, x)
        assert s.device.type == "cuda" and s.shape == d.shape == (5,)
        gx, gy = waves_op.backward_op(s, d, 0.5, x, x, [True, False])
        assert gx.device.type == "cuda" and gx.shape == (5,) and gy is None
        with pytest.raises(RuntimeError, match="Device"):
            waves_op(0.5, x, torch.empty(5, dtype=torch.float64))
        with pytest.raises((TypeError, ValueError)):
            waves_op(0.5, x, x.float())


def test_meta():
    m, v = torch.empty(4, 3, 3, dtype=torch.float64, device="meta"), rand(4, 3).to("meta")
    y, energy = wt.kernel_op(k.turn, outputs={"energy": 1})(m, v)
    assert y.is_meta and y.shape == (4, 3) and energy.shape == (1,)


def test_export():
    class Step(torch.nn.Module):
        def forward(self, x, y):
            return waves_op(0.5, x, y)[0] + 1

    x, y = rand(5), rand(5, seed=1)
    n = torch.export.Dim("n", min=2)
    program = torch.export.export(Step(), (x, y), dynamic_shapes=({0: n}, {0: n}))
    assert any(node.target is waves_op.forward_op for node in program.graph.nodes)
    a, b = rand(7), rand(7, seed=1)
    torch.testing.assert_close(program.module()(a, b), k.waves_torch(0.5, a, b)[0] + 1)


def test_saved_tensor_hooks():
    packed = []

    def pack(t):
        packed.append(t)
        return t.clone()

    x, y = rand(5, grad=True), rand(5, grad=True, seed=1)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        s, d = waves_op(0.5, x, y)
    assert len(packed) == 2
    wanted = torch.autograd.grad(sum(k.waves_torch(0.5, x, y)).sum(), (x, y))
    for a, b in zip(torch.autograd.grad((s + d).sum(), (x, y)), wanted):
        torch.testing.assert_close(a, b)


def test_only_what_backward_reads_is_saved():
    packed = []
    w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(packed.append, lambda t: t):
        wt.kernel_op(k.scale_by)(w, rand(100, grad=True), rand(100))
    assert [tuple(t.shape) for t in packed] == [(), (100,)]


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(reentrant):
    from torch.utils.checkpoint import checkpoint

    x, s = rand(5, grad=True), rand(5, grad=True, seed=1)
    op = wt.kernel_op(k.iterate)
    got = checkpoint(lambda x, s: op(x, 3, s).sin(), x, s, use_reentrant=reentrant)
    got.sum().backward()
    wanted = torch.autograd.grad(k.iterate_torch(x, 3, s).sin().sum(), (x, s))
    torch.testing.assert_close(x.grad, wanted[0])
    torch.testing.assert_close(s.grad, wanted[1])


def test_a_saved_tensor_changed_in_place_is_noticed():
    x, y = rand(5, grad=True), rand(5, seed=1)
    s, _ = waves_op(0.5, x, y)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        s.sum().backward()


def test_names_in_graph_profiler_and_anomaly_mode():
    x, y = rand(5, grad=True), rand(5, seed=1)
    with torch.profiler.profile() as profile:
        s, _ = waves_op(0.5, x, y)
        s.sum().backward()
    names = {e.name for e in profile.events()}
    assert s.grad_fn.name() == "wavesBackward"
    assert waves_op.schema.name in names and waves_op.backward_op._schema.name in names
    assert any("wavesBackward" in n for n in names)
    with torch.autograd.detect_anomaly(check_nan=True):
        s, _ = waves_op(float("nan"), x, y)
        with pytest.raises(RuntimeError, match="'wavesBackward' returned nan values"):
            s.sum().backward()


def test_deepcopy_and_pickle():
    module = torch.nn.Module()
    module.op = wt.kernel_op(k.turn, outputs={"energy": 1})
    for again in (copy.deepcopy(module).op, pickle.loads(pickle.dumps(module.op))):
        assert again.forward_op is module.op.forward_op
        assert again.schema == module.op.schema


def test_autocast():
    x, y = rand(5, dtype=torch.float32, grad=True), rand(5, dtype=torch.float32)
    op = wt.kernel_op(k.axpy)
    half = x.bfloat16()
    with pytest.raises(TypeError, match="wanted Float"):
        op(2.0, half, y)
    with torch.autocast("cpu", torch.bfloat16):
        out = op(2.0, half, y)
    assert out.dtype == torch.float32
    torch.testing.assert_close(out, 2 * half.float() * y)
    torch.testing.assert_close(torch.autograd.grad(out.sum(), x)[0], (2 * y).bfloat16().float())


def test_no_python_runs_inside_the_op():
    """Neither in the calling thread nor in those of the autograd engine."""
    x, s = rand(5, grad=True), rand(5, grad=True, seed=1)
    op = wt.kernel_op(k.iterate).forward_op
    op(x, 2, s).sum().backward()  # everything is compiled
    seen = []

    def watch(frame, event, arg):
        if event == "call":
            seen.append(frame.f_code.co_name)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        out = op(x, 2, s)
        loss = out.sum()
        count = len(seen)
        loss.backward()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert set(seen[:count]) <= {"__call__"}  # of OpOverload
    engine = {"backward", "_make_grads", "_tensor_or_tensors_to_tuple", "_engine_run_backward"}
    assert not [name for name in seen[count:] if "waves" in name or "warp" in name]
    assert "backward" in seen[count:] and engine & set(seen[count:])


def test_threads():
    """Ops run, differentiate and register at once."""

    def work(seed):
        for i in range(5):
            x, y = rand(50, grad=True, seed=seed), rand(50, grad=True, seed=seed + i)
            got = torch.autograd.grad(loss_of(waves_op, x, y), (x, y))
            wanted = torch.autograd.grad(loss_of(k.waves_torch, x, y), (x, y))
            for a, b in zip(got, wanted):
                torch.testing.assert_close(a, b)
            wt.kernel_op(k.neighbours, dim=f"x.shape[0] - {seed + i + 1}")(rand(80))

    in_threads(work, [10 * i for i in range(4)])


def test_gradients_of_a_refused_kernel():
    op = wt.kernel_op(k.unbounded)
    x, y = rand(3, dtype=torch.float32), rand(3, dtype=torch.float32, seed=1)
    torch.testing.assert_close(op(x, y), torch.full((3,), 8.0))
    assert op.backward_op is None
    with pytest.raises(RuntimeError, match="op_kernels.py"):
        op(x.requires_grad_(), y)
