# SPDX-License-Identifier: Apache-2.0
# bench_bandwidth.py: kernels that only move memory, and sums of all threads into one element.
"""Beside the machine's own copy and PyTorch; results are compared before anything is timed."""

import argparse
import json
import pathlib

import measure
import numpy as np
import torch
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


@wp.kernel
def square_sum(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i])


@wp.kernel
def gravity_step(pos: wp.array(dtype=wp.vec3), vel: wp.array(dtype=wp.vec3), g: wp.vec3, dt: float):
    tid = wp.tid()
    vel[tid] = vel[tid] + g * dt
    pos[tid] = pos[tid] + vel[tid] * dt


class Table:
    def __init__(self, device):
        self.device = device
        self.rows = []

    def add(self, what, name, run, moved=0, calls=1):
        """Times run(), which reads and writes `moved` bytes in all."""
        row = {"what": what, "name": name, **measure.seconds(run, self.device, calls)}
        if moved:
            row["TB/s"] = moved / row["median"] * 1e-12
        self.rows.append(row)
        speed = f"{row['TB/s']:8.3f} TB/s" if moved else ""
        print(f"{what:24s} {name:24s} {1e3 * row['median']:10.4f} ms {speed}")


def close(a, b, tolerance):
    error = float((a - b).abs().max() / b.abs().max())
    if not error <= tolerance:
        raise SystemExit(f"bench_bandwidth: results differ by {error:g}; nothing timed")


def bench_scale(table, n):
    x, out = torch.randn(n, device=table.device), torch.empty(n, device=table.device)
    xs, ys = wp.from_torch(x, requires_grad=True), wp.from_torch(out, requires_grad=True)
    what = f"y = s*x, 2^{n.bit_length() - 1}"

    def ours():
        wp.launch(scale, dim=n, inputs=[xs, 2.5, ys])

    ours()
    close(out, 2.5 * x, 0)
    if table.device.type == "cpu":
        source, target = x.numpy(), np.empty(n, np.float32)
        table.add(what, "numpy.copyto", lambda: np.copyto(target, source), 8 * n)
    else:
        table.add(what, "copy", lambda: out.copy_(x), 8 * n)
    table.add(what, "torch.mul", lambda: torch.mul(x, 2.5, out=out), 8 * n)
    table.add(what, "warp_torch", ours, 8 * n)
    leaf = x.requires_grad_()
    op = wp.kernel_op(scale)
    y, cotangent = op(leaf, 2.5), torch.randn(n, device=table.device)
    (grad,) = torch.autograd.grad(y, leaf, cotangent, retain_graph=True)
    close(grad, 2.5 * cotangent, 0)
    backward = lambda: torch.autograd.grad(y, leaf, cotangent, retain_graph=True)  # noqa: E731
    table.add("its adjoint, as an op", "warp_torch", backward, 8 * n)
    y = leaf * 2.5
    table.add("its adjoint, as an op", "torch.mul", backward, 8 * n)


def bench_sum(table, n):
    x, loss = torch.randn(n, device=table.device), torch.zeros(1, device=table.device)
    xs, out = wp.from_torch(x), wp.from_torch(loss)

    def ours():
        wp.launch(square_sum, dim=n, inputs=[xs, out])

    ours()
    close(loss.double(), x.double().square().sum(), 1e-4)
    what = f"loss += x^2, 2^{n.bit_length() - 1}"
    table.add(what, "torch", lambda: x.square().sum(), 4 * n)
    table.add(what, "warp_torch", ours, 4 * n)


def bench_gravity(table, n):
    pos, vel = (torch.zeros(n, 3, device=table.device) for _ in range(2))
    p, v = wp.from_torch(pos, dtype=wp.vec3), wp.from_torch(vel, dtype=wp.vec3)
    g, dt = wp.vec3(0.0, -9.8, 0.0), 0.001
    pull = torch.tensor([0.0, -9.8, 0.0], device=table.device)
    what = f"gravity_step, {n:,}"

    def ours():
        wp.launch(gravity_step, dim=n, inputs=[p, v, g, dt])

    def plain():
        vel.add_(pull * dt)
        pos.add_(vel * dt)

    ours()
    close(pos, torch.zeros_like(pos) + pull * dt * dt, 1e-6)
    table.add(what, "torch", plain, 48 * n)
    table.add(what, "warp_torch", ours, 48 * n, calls=20)
    if table.device.type == "cuda":
        replay = measure.graphed(ours, 100)
        row = measure.seconds(replay, table.device)
        row = {k: t / 100 for k, t in row.items()}
        table.rows.append({"what": what, "name": "warp_torch, graph", **row})
        print(f"{what:24s} {'warp_torch, graph':24s} {1e3 * row['median']:10.4f} ms")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=pathlib.Path, help="write JSON here")
    args = parser.parse_args(argv)
    device = torch.device(args.device)
    wp.set_device(args.device)
    table = Table(device)
    cuda = device.type == "cuda"
    bench_scale(table, 1 << (28 if cuda else 24))
    bench_sum(table, 1 << 24)
    for n in (1_000_000, 16_000_000) if cuda else (1_000_000,):
        bench_gravity(table, n)
    report = {"benchmark": "bandwidth", "machine": measure.machine(device), "results": table.rows}
    if args.out:
        args.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
