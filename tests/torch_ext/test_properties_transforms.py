# SPDX-License-Identifier: Apache-2.0
# test_properties_transforms.py: torch.func transforms of ops in every nesting, against PyTorch's own
# functions under the same transforms.
import itertools

import pytest
import torch
import warp_torch as wt

from tests.torch_ext import op_kernels as k
from tests.torch_ext.op_kernels import rand

pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop")


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
