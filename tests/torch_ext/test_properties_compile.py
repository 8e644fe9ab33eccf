# SPDX-License-Identifier: Apache-2.0
# test_properties_compile.py: what torch.compile, tracing and AOTInductor make of ops. Most of it with
# the aot_eager backend, which does all but generate code; what needs Inductor is marked slow.
import pytest
import torch
import torch._dynamo.testing
import warp_torch as wt
from torch.fx.experimental import proxy_tensor
from torch.utils import checkpoint

from tests.torch_ext import op_kernels as k
from tests.torch_ext.op_kernels import rand

waves = wt.kernel_op(k.waves)


@pytest.fixture(autouse=True)
def fresh_dynamo():
    torch._dynamo.reset()


def same(got, wanted, inputs):
    torch.testing.assert_close(got, wanted)
    a, b = (torch.autograd.grad(o.sum(), inputs) for o in (got, wanted))
    torch.testing.assert_close(a, b)


def compiled(f, **options):
    return torch.compile(f, **{"fullgraph": True, "backend": "aot_eager", **options})


def test_shapes_from_expressions_compile_once():
    op = wt.kernel_op(k.neighbours, dim="x.shape[0] - 1")
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    f = compiled(lambda x: op(x * 2).sin(), backend=counter, dynamic=True)
    for n in (5, 9, 17):
        x = rand(n, grad=True)
        same(f(x), k.neighbours_torch(x * 2).sin(), x)
    assert counter.frame_count == 1


def test_numbers_compile_once_when_dynamic():
    op = wt.kernel_op(k.iterate)
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    f = compiled(lambda x, n, s: op(x, n, s), backend=counter, dynamic=True)
    x, s = rand(4, grad=True), rand(4, grad=True, seed=1)
    for n in (2, 3, 5):
        same(f(x, n, s), k.iterate_torch(x, n, s), (x, s))
    assert counter.frame_count == 1


def test_a_parameter_that_is_a_tensor():
    """The variant of the op for tensors is made while tracing."""
    op = wt.kernel_op(k.scale_by)
    w = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    x, z = rand(5, grad=True), rand(5, grad=True, seed=1)
    f = compiled(lambda w, x, z: op(w, x, z) + op(2.0, x, z))
    same(f(w, x, z), w * x + z + 2 * x + z, (w, x, z))


def test_keywords_and_modules():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.op = wt.kernel_op(k.drift)

        def forward(self, v, dt):
            return self.op(g=(0.0, 0.0, -9.8), dt=dt, x=v)

    v, dt = rand(4, 3, grad=True), torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    gravity = torch.tensor([0.0, 0.0, -9.8], dtype=torch.float64)
    same(compiled(Net())(v, dt), k.drift_torch(gravity, v, dt), (v, dt))


def test_checkpoint_in_a_compiled_function():
    op = wt.kernel_op(k.iterate)

    def f(x, s):
        return checkpoint.checkpoint(lambda x, s: op(x, 3, s).sin(), x, s, use_reentrant=False)

    x, s = rand(5, grad=True), rand(5, grad=True, seed=1)
    same(compiled(f)(x, s), k.iterate_torch(x, 3, s).sin(), (x, s))


@pytest.mark.parametrize("outer", ["jvp", "vmap", "hessian"])
def test_transforms_in_a_compiled_function(outer):
    y = rand(3, seed=1)

    def make(w):
        def f(x):
            return w(0.5, x, y)[0]

        return {
            "jvp": lambda x: torch.func.jvp(f, (x,), (x.cos(),))[1],
            "vmap": lambda x: torch.vmap(f)(torch.stack((x, 2 * x))),
            "hessian": torch.func.hessian(lambda x: f(x).sin().sum()),
        }[outer]

    x = rand(3)
    torch.testing.assert_close(compiled(make(waves))(x), make(k.waves_torch)(x))


def test_the_graph_names_the_ops_and_drops_what_is_unused():
    def f(x, y):
        waves(0.1, x, y)
        s, d = waves(0.5, x, y)
        return s + d

    x, y = rand(5), rand(5, seed=1)
    graph = proxy_tensor.make_fx(f)(x, y).graph
    assert sum(n.target is waves.forward_op for n in graph.nodes) == 2
    graph.eliminate_dead_code()
    assert sum(n.target is waves.forward_op for n in graph.nodes) == 1


def test_layouts_reach_the_kernel():
    x = rand(3, 4, grad=True)

    def f(w):
        return lambda x: w(0.5, x.T[1], x[:, 2])[0] * w(0.5, x[0], x.reshape(-1)[::3])[1][:3]

    same(compiled(f(waves))(x), f(k.waves_torch)(x), x)


def test_mutation_with_dynamic_shapes():
    op = wt.kernel_op(k.update, mutates="s")
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")

    def f(x, s):
        s = s * 1.0
        op(x, s)
        op(x, s)
        return s.sin()

    g = compiled(f, backend=counter, dynamic=True)
    for n in (3, 6):
        x, s = rand(n, grad=True), rand(n, grad=True, seed=1)
        same(g(x, s), k.update_torch(x, k.update_torch(x, s)).sin(), (x, s))
    assert counter.frame_count == 1


def test_errors_are_the_same_while_tracing():
    with pytest.raises(Exception, match="wanted Double"):
        compiled(lambda x: waves(0.5, x, x)[0])(rand(3).float())
    with pytest.raises(Exception, match="has 2 dimensions, wanted 1"):
        compiled(lambda x: waves(0.5, x, x)[0])(rand(3, 3))


def test_compiled_autograd_of_every_kind():
    turn = wt.kernel_op(k.turn, outputs={"energy": 1})
    m, v = rand(4, 3, 3, grad=True), rand(4, 3, grad=True)
    dt = torch.tensor(0.2, dtype=torch.float64, requires_grad=True)

    def loss(turn, drift):
        y, energy = turn(m, v)
        return energy.sum() + drift(v[0], y, dt).sin().sum()

    wanted = torch.autograd.grad(loss(k.turn_torch, k.drift_torch), (m, v, dt))
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager", fullgraph=True)):
        loss(turn, wt.kernel_op(k.drift)).backward()
    torch.testing.assert_close((m.grad, v.grad, dt.grad), wanted)


@pytest.mark.slow
def test_cpp_wrapper():
    with torch._inductor.config.patch(cpp_wrapper=True):
        f = compiled(lambda x, y: waves(0.5, x * 2, y)[0] + 1, backend="inductor")
        x, y = rand(5, grad=True), rand(5, grad=True, seed=1)
        same(f(x, y), k.waves_torch(0.5, x * 2, y)[0] + 1, (x, y))


@pytest.mark.slow
def test_aot_inductor(tmp_path):
    class Step(torch.nn.Module):
        def forward(self, x, y):
            return waves(0.5, x * 2, y)[0] + 1

    n = torch.export.Dim("n", min=2)
    program = torch.export.export(
        Step(), (rand(5), rand(5, seed=1)), dynamic_shapes=({0: n}, {0: n})
    )
    path = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "s.pt2"))
    step = torch._inductor.aoti_load_package(path)
    for size in (5, 9):
        x, y = rand(size), rand(size, seed=1)
        torch.testing.assert_close(step(x, y), k.waves_torch(0.5, x * 2, y)[0] + 1)


def test_a_compiled_call_knows_its_op():
    """Two ops in the place of a number's tensor: Dynamo compiles one ``__call__`` for both."""
    w, x, z = torch.tensor(3.0, dtype=torch.float64), rand(4), rand(4, seed=1)
    ops = wt.kernel_op(k.scale_by), wt.kernel_op(k.shift_by)
    for op, wanted in zip(ops, (w * x + z, w + x * z)):
        torch.testing.assert_close(compiled(op)(w, x, z), wanted)
