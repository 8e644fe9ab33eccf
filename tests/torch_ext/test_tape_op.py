# SPDX-License-Identifier: Apache-2.0
# test_tape_op.py: functions of several launches as ops, against the same computation in PyTorch.
import gc
import importlib

import pytest
import torch
import torch._dynamo.testing
import warp_torch as wt
from torch.utils.checkpoint import checkpoint

from tests.support.threads import in_threads

F = wt.float64
module = importlib.import_module("warp_torch.tape_op")
EACH = pytest.mark.parametrize("where", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])


@wt.kernel
def square(x: wt.array(dtype=F), y: wt.array(dtype=F)):
    i = wt.tid()
    y[i] = x[i] * x[i]


@wt.kernel
def waves(y: wt.array(dtype=F)):
    i = wt.tid()
    y[i] = wt.sin(y[i]) * y[i]


@wt.kernel
def total(x: wt.array(dtype=F), loss: wt.array(dtype=F)):
    wt.atomic_add(loss, 0, x[wt.tid()])


@wt.kernel
def turn(x: wt.array(dtype=wt.vec3d), y: wt.array(dtype=wt.vec3d)):
    i = wt.tid()
    y[i] = wt.cross(x[i], wt.vec3d(F(1.0), F(2.0), F(3.0))) * wt.length(x[i])


@wt.kernel
def euler(q: wt.array(dtype=F), u: wt.array(dtype=F), q_next: wt.array(dtype=F)):
    i = wt.tid()
    q_next[i] = q[i] + wt.sin(q[i]) * u[i]


def waves_torch(y):
    return torch.sin(y) * y


def turn_torch(x):
    axis = torch.tensor([1.0, 2.0, 3.0], dtype=x.dtype, device=x.device)
    return torch.linalg.cross(x, axis.expand_as(x)) * x.norm(dim=-1, keepdim=True)


def two_launches(x):
    t, loss = wt.empty_like(x), wt.zeros(1, dtype=F, device=str(x.device))
    wt.launch(square, x.shape[0], [x], [t])
    wt.launch(total, x.shape[0], [t], [loss])
    return t, loss


def in_place(x):
    y = x.clone()
    for _ in range(3):
        wt.launch(waves, y.shape[0], [y])
    return y


def between(x):
    """PyTorch's operations between launches, on tensors that launches overwrite later."""
    n = x.shape[0]
    t, out = torch.empty_like(x), wt.zeros(n, dtype=F, device=str(x.device))
    wt.launch(square, n, [x], [t])
    y = t + x
    wt.launch(square, n, [y], [t])
    z = t + y
    wt.launch(waves, n, [t])
    wt.launch(square, n, [z], [out])
    return out, t, z, wt.to_torch(out) * t


def between_torch(x):
    y = x * x + x
    z = y * y + y
    t = waves_torch(y * y)
    return z * z, t, z, z * z * t


def rows(x):
    out = torch.zeros_like(x)
    for k in range(x.shape[0]):
        wt.launch(square, x.shape[1], [x[k]], [out[k]])
    return out, out.sum(0) * out[1]


def vectors(x: wt.array(dtype=wt.vec3d)):
    y = wt.empty_like(x)
    wt.launch(turn, x.shape[0], [x], [y])
    z = wt.clone(y)
    wt.launch(turn, x.shape[0], [z], [y])
    return y, z


simulate = wt.rollout(euler, carry={"q": "q_next"}, per_step=("u",))


def with_a_rollout(q, u):
    a = torch.empty_like(q)
    wt.launch(square, q.shape[0], [q], [a])
    end = simulate(a, u)
    out = wt.zeros(q.shape[0], dtype=F, device=str(q.device))
    wt.launch(square, q.shape[0], [end], [out])
    return out


def with_a_rollout_torch(q, u):
    q = q * q
    for now in u:
        q = q + torch.sin(q) * now
    return q * q


def scaled(x, k: float = 2.0, n: int = 1, how: str = "sin"):
    y = torch.empty_like(x)
    wt.launch(square, x.shape[0], [x], [y])
    for _ in range(n):
        y = (torch.sin(y) if how == "sin" else y) * k
    return y


def rand(*shape, where="cpu", seed=0):
    g = torch.Generator().manual_seed(seed + sum(shape))
    t = torch.randn(shape, dtype=torch.float64, generator=g)
    return t.to(where).requires_grad_()


CASES = {
    "two launches": (two_launches, lambda x: (x * x, (x * x).sum()[None]), [(5,)]),
    "in place": (
        in_place,
        lambda x: waves_torch(waves_torch(waves_torch(x))),
        [(5,)],
    ),
    "between": (between, between_torch, [(5,)]),
    "rows": (rows, lambda x: (x * x, (x * x).sum(0) * x[1] ** 2), [(2, 4)]),
    "vectors": (vectors, lambda x: (turn_torch(turn_torch(x)), turn_torch(x)), [(4, 3)]),
    "rollout": (with_a_rollout, with_a_rollout_torch, [(3,), (4, 3)]),
    "torch alone": (lambda x, y: (x, x * y, y[1:]), lambda x, y: (x * 1, x * y, y[1:]), [(4,)] * 2),
    "numbers": (scaled, lambda x: torch.sin(x * x) * 2, [(4,)]),
}


def same(got, wanted):
    got, wanted = (o if isinstance(o, tuple) else (o,) for o in (got, wanted))
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted):
        torch.testing.assert_close(a, b)


def compare(op, reference, args):
    """Values, gradients of all results and of each, twice from one record."""
    got, wanted = (o if isinstance(o, tuple) else (o,) for o in (op(*args), reference(*args)))
    same(got, wanted)
    cotangents = [rand(*w.shape, seed=7).detach().to(w.device) for w in wanted]
    for places in (range(len(got)), *([i] for i in range(len(got)))):
        a, b = (
            torch.autograd.grad(
                [o[i] for i in places],
                args,
                [cotangents[i] for i in places],
                retain_graph=True,
                allow_unused=True,
                materialize_grads=True,
            )
            for o in (got, wanted)
        )
        same(a, b)


@EACH
@pytest.mark.parametrize("name", list(CASES))
def test_values_and_gradients(name, where):
    function, reference, shapes = CASES[name]
    args = [rand(*s, where=where, seed=i) for i, s in enumerate(shapes)]
    compare(wt.tape_op(function), reference, args)


@pytest.mark.parametrize("name", ["between", "vectors", "rollout"])
def test_gradcheck(name):
    function, _, shapes = CASES[name]
    args = [rand(*s, seed=i) for i, s in enumerate(shapes)]
    assert torch.autograd.gradcheck(wt.tape_op(function), args)


def test_arguments_in_any_layout():
    op = wt.tape_op(vectors)
    for x in (rand(3, 4).T, rand(8, 3)[::2], rand(1, 3).expand(4, 3), rand(4, 6)[:, 1:4]):
        compare(op, CASES["vectors"][1], [x])
    for made in op(rand(3, 4).T):
        assert made.is_contiguous()
    compare(wt.tape_op(in_place), CASES["in place"][1], [torch._neg_view(rand(4))])


def test_numbers_and_text():
    op, x = wt.tape_op(scaled), rand(4)
    same(op(x, n=3, how="", k=0.5), x * x / 8)
    same(op(x, 3.0), torch.sin(x * x) * 3)


def test_only_what_is_asked_for():
    q, u = rand(3), rand(4, 3)
    op = wt.tape_op(with_a_rollout)
    (a,) = torch.autograd.grad(op(q.detach(), u).sum(), u)
    (b,) = torch.autograd.grad(with_a_rollout_torch(q, u).sum(), u)
    same(a, b)
    with torch.no_grad():
        assert not op(q, u).requires_grad
    assert not op(q.detach(), u.detach()).requires_grad
    assert len(module._tickets) == 0  # nothing is recorded where no gradient is wanted


def test_nothing_is_kept():
    op, x = wt.tape_op(between), rand(4)
    for retain in (False, True):
        out = op(x)
        assert len(module._tickets) == 1
        out[0].sum().backward(retain_graph=retain)
        del out
        gc.collect()
        assert len(module._tickets) == 0
    op(x)  # dropped without a backward
    gc.collect()
    assert len(module._tickets) == 0


def test_what_is_saved_may_be_moved_or_made_again():
    op, x = wt.tape_op(between), rand(4)
    wanted = torch.autograd.grad(sum(o.sum() for o in between_torch(x)), x)
    with torch.autograd.graph.save_on_cpu():
        out = op(x)
    same(torch.autograd.grad(sum(o.sum() for o in out), x), wanted)
    out = checkpoint(op, x, use_reentrant=False)
    same(torch.autograd.grad(sum(o.sum() for o in out), x), wanted)


def test_a_result_changed_afterwards():
    op, x = wt.tape_op(between), rand(4)
    out = op(x)
    with torch.no_grad():
        out[1].mul_(2)
    same(torch.autograd.grad(out[0].sum(), x), torch.autograd.grad(between_torch(x)[0].sum(), x))
    out = op(x)
    with torch.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out[0].sum().backward()


OUTPUTS = ["x", ("x.shape[0]", torch.float64), "x", "2 * x.shape[0] // 2"]


def test_compile():
    op = wt.tape_op(between, outputs=OUTPUTS)
    counter = torch._dynamo.testing.CompileCounterWithBackend("inductor")
    f = torch.compile(lambda x: [o * 2 for o in op(x * 3)], fullgraph=True, backend=counter)
    for n in (4, 5, 7):
        x = rand(n)
        torch._dynamo.mark_dynamic(x, 0)
        got, wanted = f(x), [o * 2 for o in between_torch(x * 3)]
        same(tuple(got), tuple(wanted))
        a, b = (torch.autograd.grad(sum(o.sum() for o in made), x) for made in (got, wanted))
        same(a, b)
    assert counter.frame_count == 1
    fake = wt.tape_op(in_place, fake=torch.empty_like)
    x = rand(4)
    same(torch.compile(fake, fullgraph=True)(x), fake(x))
    with pytest.raises(Exception, match="shapes of the results"):
        torch.compile(wt.tape_op(in_place), fullgraph=True)(x)


def test_opcheck_and_export(tmp_path):
    op = wt.tape_op(with_a_rollout, outputs="q")
    q, u = rand(3), rand(4, 3)
    torch.library.opcheck(op._variant(("Tensor", "Tensor")).forward, (q, u))

    class Net(torch.nn.Module):
        def forward(self, q, u):
            return op(q, u) + 1

    program = torch.export.export(Net(), (q, u))
    torch.export.save(program, tmp_path / "net.pt2")
    same(torch.export.load(tmp_path / "net.pt2").module()(q, u), op(q, u) + 1)


def test_a_said_shape_is_compared():
    x = rand(4)
    with pytest.raises(ValueError, match=r"returned \(\(4,\).*outputs= says \(\(3,\)"):
        wt.tape_op(in_place, outputs="x.shape[0] - 1")(x)
    with pytest.raises(ValueError, match="is no size"):
        wt.tape_op(in_place, outputs="len(x)")


def test_transforms():
    op, x = wt.tape_op(between), rand(3, 4)

    def loss(f):
        return lambda x: sum((o * o).sum() for o in f(x))

    got, wanted = (torch.func.grad(loss(f))(x[0].detach()) for f in (op, between_torch))
    same(got, wanted)
    for map_of in (lambda f: torch.vmap(f), lambda f: torch.vmap(torch.func.grad(loss(f)))):
        same(map_of(op)(x.detach()), map_of(between_torch)(x.detach()))
    a, b = (torch.autograd.grad(torch.vmap(f)(x)[3].sum(), x) for f in (op, between_torch))
    same(a, b)
    with pytest.raises(NotImplementedError, match="no forward mode"):
        torch.func.jvp(op, (x[0].detach(),), (x[0].detach(),))


def test_second_derivatives_are_refused():
    x = rand(4)
    (g,) = torch.autograd.grad(wt.tape_op(in_place)(x).sum(), x, create_graph=True)
    with pytest.raises(wt.GradientError, match="no second derivatives"):
        g.sum().backward()


def test_what_would_be_lost_is_refused():
    w = rand(4)

    def captured(x):
        return x * w

    def launched(x):
        y = torch.zeros_like(x)
        wt.launch(square, 4, [w], [y])
        return y + x

    def changes(x):
        wt.launch(waves, 4, [x])
        return x

    def pytorch_in_place(x):
        y = torch.zeros_like(x)
        wt.launch(square, 4, [x], [y])
        y.mul_(2)
        return y

    for x in (rand(4), rand(4).detach()):
        with pytest.raises(wt.GradientError, match="is not an argument"):
            wt.tape_op(captured)(x)
        with pytest.raises(wt.GradientError, match="not an argument|bare launch"):
            wt.tape_op(launched)(x)
        with pytest.raises(wt.Error, match="into argument 0|changed argument 0"):
            wt.tape_op(changes)(x)
    with pytest.raises((wt.GradientError, RuntimeError), match="in-?place"):
        wt.tape_op(pytorch_in_place)(rand(4))
    same(wt.tape_op(lambda x: x * w.detach())(rand(4)), rand(4) * w)


def test_on_a_tape_its_launches_are_the_tapes():
    op, x = wt.tape_op(two_launches), rand(4)
    out = wt.zeros(1, dtype=F, device="cpu", requires_grad=True)

    def chain(x):
        t = wt.zeros(4, dtype=F, device="cpu", requires_grad=True)
        wt.launch(square, 4, [x], [t])
        return t

    with wt.Tape() as tape:
        t = wt.tape_op(chain)(x)
        wt.launch(total, 4, [t], [out])
    tape.backward(out)
    same(x.grad, 2 * x)
    assert op.__name__ == "two_launches"


def test_threads():
    op, x = wt.tape_op(between), rand(16)
    wanted = torch.autograd.grad(between_torch(x)[3].sum(), x)

    def work(_):
        for _ in range(5):
            same(torch.autograd.grad(op(x)[3].sum(), x), wanted)

    in_threads(work, range(4))


def test_decorator_and_errors():
    @wt.tape_op(outputs="x")
    def doubled(x):
        return x * 2

    same(doubled(rand(3)), rand(3) * 2)
    with pytest.raises(TypeError, match="returned a float"):
        wt.tape_op(lambda x: 1.0)(rand(3))
    with pytest.raises(TypeError, match="got a dict"):
        doubled({})
    with pytest.raises(TypeError, match="kernel_op"):
        wt.tape_op(square)
