# SPDX-License-Identifier: Apache-2.0
# test_properties_transforms.py: torch.func transforms of ops in every nesting, against PyTorch's own
# functions under the same transforms.
import itertools

import pytest
import torch
import warp_torch as wt

from tests.torch_ext import op_kernels as k
from tests.torch_ext.op_kernels import rand

pytestmark = pytest.mark.filterwarnings("error:There is a performance drop")


# Each of them makes a function from vectors to vectors of another one, so that they compose.
def reverse(f):
    def out(x):
        value, pull = torch.func.vjp(f, x)
        return pull(torch.cos(value))[0]

    return out


def forward(f):
    return lambda x: torch.func.jvp(f, (x,), (torch.sin(x),))[1]


def batch(f):
    return lambda x: torch.vmap(f)(torch.stack((x, 0.5 * x))).sum(0)


TRANSFORMS = (reverse, forward, batch)
Y = rand(3, seed=4)


def functions():
    waves, iterate, update = map(wt.kernel_op, (k.waves, k.iterate, k.update))
    near = wt.kernel_op(k.neighbours, dim="x.shape[0] - 1")
    pad = torch.nn.functional.pad
    return {
        "two results": (
            lambda x: waves(0.5, x, Y)[0] * waves(0.5, x, Y)[1],
            lambda x: k.waves_torch(0.5, x, Y)[0] * k.waves_torch(0.5, x, Y)[1],
        ),
        "tape": (lambda x: iterate(x, 2, Y), lambda x: k.iterate_torch(x, 2, Y)),
        "state": (lambda x: update(Y, x), lambda x: k.update_torch(Y, x)),
        "neighbours": (
            lambda x: near(pad(x, (0, 1), value=1.0)),
            lambda x: k.neighbours_torch(pad(x, (0, 1), value=1.0)),
        ),
    }


NAMES = list(functions())


def nested(transforms, f):
    for t in reversed(transforms):
        f = t(f)
    return f(rand(3))


@pytest.mark.parametrize("name", NAMES)
def test_two_transforms(name):
    ours, reference = functions()[name]
    for pair in itertools.product(TRANSFORMS, repeat=2):
        torch.testing.assert_close(
            nested(pair, ours), nested(pair, reference), msg=lambda m, pair=pair: f"{pair}: {m}"
        )


@pytest.mark.parametrize("outer", TRANSFORMS)
def test_three_transforms(outer):
    ours, reference = functions()["two results"]
    for pair in itertools.product(TRANSFORMS, repeat=2):
        torch.testing.assert_close(nested((outer, *pair), ours), nested((outer, *pair), reference))


def test_batch_dimensions():
    op, reference = wt.kernel_op(k.waves), k.waves_torch
    x, y = rand(4, 3), rand(3, 4, seed=1)

    def run(f, in_dims, args, **options):
        return torch.vmap(lambda x, y: f(0.5, x, y), in_dims=in_dims, **options)(*args)

    for in_dims, args in (
        ((0, 1), (x, y)),
        ((1, 0), (x.T, y.T)),
        ((None, 1), (x[0], y)),
        ((0, None), (x, y[:, 0])),
    ):
        torch.testing.assert_close(run(op, in_dims, args), run(reference, in_dims, args))
    for options in ({"out_dims": 1}, {"chunk_size": 2}):
        got, wanted = (run(f, (0, 1), (x, y), **options) for f in (op, reference))
        torch.testing.assert_close(got, wanted)


def test_batches_of_vectors_sums_and_parameters():
    turn = wt.kernel_op(k.turn, outputs={"energy": 1})
    m, v = rand(2, 5, 3, 3), rand(2, 5, 3)
    torch.testing.assert_close(torch.vmap(turn)(m, v), torch.vmap(k.turn_torch)(m, v))
    got = torch.vmap(turn, in_dims=(0, None))(m, v[0])
    torch.testing.assert_close(got, torch.vmap(k.turn_torch, in_dims=(0, None))(m, v[0]))
    drift, dt = wt.kernel_op(k.drift), torch.tensor([0.1, 0.7], dtype=torch.float64)
    got = torch.vmap(drift, in_dims=(None, None, 0))(v[0, 0], v[0], dt)
    wanted = torch.vmap(k.drift_torch, in_dims=(None, None, 0))(v[0, 0], v[0], dt)
    torch.testing.assert_close(got, wanted)


def test_gradients_of_what_a_batch_shares():
    """vmap over one argument; the gradient of the other is the sum over the batch."""
    x, y = rand(4, 3), rand(3, seed=1)

    def total(f):
        def inner(x, y):
            return torch.vmap(lambda x: f(0.5, x, y)[0], in_dims=0)(x).square().sum()

        return torch.func.grad(inner, argnums=(0, 1))(x, y)

    torch.testing.assert_close(total(wt.kernel_op(k.waves)), total(k.waves_torch))


def test_batches_of_integers():
    x = rand(2, 4, dtype=torch.float32)
    y, sign = torch.vmap(wt.kernel_op(k.label))(x)
    torch.testing.assert_close(y, x * x)
    assert sign.dtype == torch.int32 and torch.equal(sign, (x > 0).int())


def test_functional_call_with_a_module():
    """Per-sample gradients of a network whose layer is an op."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3, dtype=torch.float64)
            self.op = wt.kernel_op(k.waves)

        def forward(self, x):
            return self.op(0.5, self.linear(x), x)[0].square().sum()

    net = Net()
    params = dict(net.named_parameters())
    x = rand(4, 3)

    def loss(params, x):
        return torch.func.functional_call(net, params, (x,))

    per_sample = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(params, x)
    for i in range(4):
        wanted = torch.autograd.grad(net(x[i]), net.parameters())
        for (_, g), w in zip(per_sample.items(), wanted):
            torch.testing.assert_close(g[i], w)


def test_a_batch_is_one_launch():
    """Of the forward and of the backward op, nested or not, whatever is batched."""
    op, x, y = wt.kernel_op(k.iterate), rand(4, 5, 3), rand(3, seed=1)

    def gradient(x, y):
        return torch.func.grad(lambda x: op(x, 2, y).square().sum())(x)

    over_one = torch.vmap(gradient, in_dims=(0, None))
    over_two = torch.vmap(over_one, in_dims=(0, None))
    for batched, argument in ((over_one, x[0]), (over_two, x)):
        with wt.profile() as profile:
            batched(argument, y)
        names = [r["name"] for r in profile.launches()]
        assert names == ["iterate (augmented)", "iterate (adjoint)"]
        assert {r["threads"] for r in profile.launches()} == {argument.numel()}


def test_a_batch_of_batches_agrees_with_pytorch():
    """Dimensions that only one of two levels batches, and a batch of cotangents of a batch."""
    op, reference = wt.kernel_op(k.iterate), k.iterate_torch
    x, y = rand(2, 3), rand(4, 3, seed=1)

    def outer_and_inner(f):
        return torch.vmap(lambda x: torch.vmap(lambda y: f(x, 2, y))(y))(x)

    def cotangents_of_a_batch(f):
        return torch.func.jacrev(lambda x: torch.vmap(lambda x: f(x, 2, y[0]))(x))(x)

    for function in (outer_and_inner, cotangents_of_a_batch):
        torch.testing.assert_close(function(op), function(reference))


def test_batches_of_states_and_of_what_does_not_lie_together():
    update = wt.kernel_op(k.update)
    x, y = rand(3, 4).T, rand(4, 3, seed=1)
    torch.testing.assert_close(torch.vmap(update)(x, y), torch.vmap(k.update_torch)(x, y))
    turn = wt.kernel_op(k.turn, outputs={"energy": 1})
    m, v = rand(3, 2, 5, 3).movedim(0, -1), rand(5, 3, 2, seed=1).movedim(-1, 0)
    torch.testing.assert_close(torch.vmap(turn)(m, v), torch.vmap(k.turn_torch)(m, v))


def test_compiled_batches():
    op, x, y = wt.kernel_op(k.waves), rand(4, 3), rand(3, 4, seed=1)

    def batched(f, x, y):
        return torch.vmap(lambda x, y: f(0.5, x, y), in_dims=(0, 1))(x, y)

    compiled = torch.compile(lambda x, y: batched(op, x, y), fullgraph=True)
    torch.testing.assert_close(compiled(x, y), batched(k.waves_torch, x, y))
