# SPDX-License-Identifier: Apache-2.0
# sharded_worker.py: what each of two processes runs: ops on DTensors, and the arm policy trained
# with DDP and FSDP2, compared with one process. Arguments: rank, file to meet at, backend.
import sys

import pytest
import torch
import torch.distributed as dist
import warp_torch as wt
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import (
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
    init_device_mesh,
)
from torch.nn.parallel import DistributedDataParallel

from tests.torch_ext import op_kernels as k
from tests.torch_ext import without_library
from tests.torch_ext.op_kernels import rand

F = wt.float64


@wt.kernel
def arm_step(
    q: wt.array(dtype=wt.vec2d),
    v: wt.array(dtype=wt.vec2d),
    u: wt.array(dtype=wt.vec2d),
    q_next: wt.array(dtype=wt.vec2d),
    v_next: wt.array(dtype=wt.vec2d),
):
    """A double pendulum with unit links and masses, torques at both joints."""
    i = wt.tid()
    dt, g = F(0.05), F(9.81)
    c, s = wt.cos(q[i][1]), wt.sin(q[i][1])
    w = v[i]
    g2 = g * wt.cos(q[i][0] + q[i][1])
    r1 = u[i][0] + s * (F(2.0) * w[0] * w[1] + w[1] * w[1]) - F(2.0) * g * wt.cos(q[i][0]) - g2
    r2 = u[i][1] - s * w[0] * w[0] - g2
    m11, m12, m22 = F(3.0) + F(2.0) * c, F(1.0) + c, F(1.0)
    det = m11 * m22 - m12 * m12
    a = wt.vec2d((m22 * r1 - m12 * r2) / det, (m11 * r2 - m12 * r1) / det)
    v_next[i] = w + a * dt
    q_next[i] = q[i] + v_next[i] * dt


class Policy(torch.nn.Module):
    def __init__(self, device, make=wt.kernel_op):
        super().__init__()
        torch.manual_seed(0)
        self.net = torch.nn.Sequential(
            torch.nn.Linear(6, 16, dtype=torch.float64, device=device),
            torch.nn.ELU(),
            torch.nn.Linear(16, 2, dtype=torch.float64, device=device),
        )
        self.step = make(arm_step)

    def forward(self, target):
        q = v = torch.zeros_like(target)
        loss = 0.0
        for _ in range(6):
            u = 10 * torch.tanh(self.net(torch.cat([q, v, target], 1)))
            q, v = self.step(q, v, u)
            loss = loss + ((q - target) ** 2).sum(1).mean()
        return loss


def train(model, target, steps=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        model(target).backward()
        optimizer.step()
    return {n: (p.detach(), p.grad) for n, p in model.named_parameters()}


def whole(t):
    return t.full_tensor() if hasattr(t, "full_tensor") else t


def check_training(rank, mesh, device):
    target = rand(8, 2).to(device)
    wanted = train(Policy(device), target)
    part = target[4 * rank : 4 * rank + 4]
    on = {} if device.type == "cpu" else {"device_ids": [device.index]}
    kinds = [wt.kernel_op, wt.autograd_function, without_library.autograd_function]
    for made in (
        *(train(DistributedDataParallel(Policy(device, f), **on), part) for f in kinds),
        *(train(fully_shard(Policy(device, f), mesh=mesh), part) for f in kinds),
    ):
        for name, (value, gradient) in made.items():
            p, g = wanted[name.removeprefix("module.")]
            torch.testing.assert_close(whole(value), p)
            torch.testing.assert_close(whole(gradient), g)


def check_op(mesh, op, reference, args, placements, results):
    """Values, placements and gradients of a call with DTensors."""
    plain = [a.detach().clone().requires_grad_() for a in args]
    spread = [
        distribute_tensor(a.detach(), mesh, [p]).requires_grad_() for a, p in zip(args, placements)
    ]
    got, wanted = (o if isinstance(o, tuple) else (o,) for o in (op(*spread), reference(*plain)))
    for a, b, p in zip(got, wanted, results):
        assert a.shape == b.shape and a.placements == (p,), (a.placements, p)
        torch.testing.assert_close(a.full_tensor(), b)
    weights = [rand(*w.shape, seed=3).to(w.device) for w in wanted]
    sum((o.full_tensor() * w).sum() for o, w in zip(got, weights)).backward()
    sum((o * w).sum() for o, w in zip(wanted, weights)).backward()
    for a, b in zip(spread, plain):
        g = torch.zeros_like(b) if b.grad is None else b.grad
        torch.testing.assert_close(a.grad.full_tensor(), g)


def check_sharding(mesh, device):
    x, y = (rand(5, seed=i).to(device) for i in range(2))  # uneven parts
    s, r = Shard(0), Replicate()
    waves = wt.kernel_op(k.waves)

    def op(*a):
        return waves(0.5, *a)

    def reference(*a):
        return k.waves_torch(0.5, *a)

    check_op(mesh, op, reference, [x, y], [s, s], [s, s])
    check_op(mesh, op, reference, [x, y], [s, r], [s, s])  # what is whole is split
    check_op(mesh, op, reference, [x, y], [r, r], [r, r])
    m, v = rand(4, 3, 3).to(device), rand(4, 3).to(device)
    turn = wt.kernel_op(k.turn, outputs={"energy": 1})
    same = wt.autograd_function(k.turn, outputs={"energy": 1})
    check_op(mesh, same, k.turn_torch, [m, v], [s, s], [s, Partial()])
    check_op(mesh, turn, k.turn_torch, [m, v], [s, s], [s, Partial()])
    check_op(mesh, turn, k.turn_torch, [m, v], [Shard(1), r], [r, r])  # components stay whole
    update = wt.kernel_op(k.update)
    check_op(mesh, update, k.update_torch, [x, y], [s, s], [s])
    g, dt = rand(3).to(device), torch.tensor(0.3, dtype=torch.float64, device=device)
    drift = wt.kernel_op(k.drift)
    check_op(mesh, drift, k.drift_torch, [g, v, dt], [r, s, r], [s])
    near = wt.kernel_op(k.neighbours, dim="x.shape[0] - 1")
    check_op(mesh, near, k.neighbours_torch, [x], [s], [r])  # needs its neighbours: runs whole
    pivot = wt.kernel_op(k.pivot)  # x[0] beside x[i]
    check_op(mesh, pivot, k.pivot_torch, [x, y, x, y], [s] * 4, [r])
    compiled = torch.compile(turn, fullgraph=True, backend="aot_eager")
    check_op(mesh, compiled, k.turn_torch, [m, v], [s, s], [s, Partial()])
    with pytest.raises(RuntimeError, match="mixed torch.Tensor and DTensor"):
        waves(0.5, distribute_tensor(x, mesh, [s]), y)
    with pytest.raises(wt.ArgumentTypeError, match="no library for this PyTorch"):
        without_library.autograd_function(k.update)(
            *(distribute_tensor(t, mesh, [s]) for t in (x, y))
        )
    with pytest.raises(NotImplementedError, match="without mutates"):
        wt.kernel_op(k.update, mutates="s")(*(distribute_tensor(t, mesh, [s]) for t in (x, y)))


def main():
    rank, meet, backend = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    device = torch.device("cpu" if backend == "gloo" else f"cuda:{rank}")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group(backend, init_method="file://" + meet, rank=rank, world_size=2)
    mesh = init_device_mesh(device.type, (2,))
    check_sharding(mesh, device)
    check_training(rank, mesh, device)
    dist.destroy_process_group()
    print("SAME")


if __name__ == "__main__":
    main()
