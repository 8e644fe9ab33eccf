# SPDX-License-Identifier: Apache-2.0
# bench_op.py: what one call of an op costs beside torch.mul, and of autograd_function with and
# without the library: without and with a graph, and through backward.
"""The product of two tensors of one element and of 1,024; results are compared before anything is
timed, and both sides take turns so that a busy machine slows both."""

import argparse
import json
import pathlib
from unittest import mock

import measure
import torch
import warp_torch as wp


@wp.kernel
def product(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * y[i]


def without_library(kernel):
    """autograd_function as it is for a PyTorch version that no library is built for."""
    with mock.patch.object(torch, "__version__", "2.99.0"):
        return wp.autograd_function(kernel)


def workloads(f, x, y):
    a, b = (t.clone().requires_grad_() for t in (x, y))
    g = torch.ones_like(x)

    def backward():
        f(a, b).backward(g)
        a.grad = b.grad = None

    return {
        "no grad": lambda: f(x, y),
        "forward with grad": lambda: f(a, b),
        "forward and backward": backward,
        "forward and autograd.grad": lambda: torch.autograd.grad(f(a, b), (a, b), g),
    }


def check(op, x, y):
    a, b = (t.clone().requires_grad_() for t in (x, y))
    got, wanted = op(a, b), torch.mul(a, b)
    torch.testing.assert_close(got, wanted)
    for u, v in zip(*(torch.autograd.grad(o.sum(), (a, b)) for o in (got, wanted))):
        torch.testing.assert_close(u, v)


@wp.kernel
def total(
    a: wp.array(dtype=float),
    b: wp.array(dtype=float),
    c: wp.array(dtype=float),
    d: wp.array(dtype=float),
    out: wp.array(dtype=float),
):
    i = wp.tid()
    out[i] = a[i] + b[i] + c[i] + d[i]


def bridge(device):
    """Seconds to see one tensor as an array without the library: a look at a backward with tensors
    and the same without."""
    host, n = without_library(total).host(()), 5
    x, numbers = torch.rand(4, device=device), ([0.0] * n, [0] * n, [4], [0] * n)

    def look(arrays):
        return measure.seconds(
            lambda: host.plan_adjoint(arrays, *numbers), torch.device("cpu"), 20000
        )["min"]

    return (look([x] * n) - look([None] * n)) / n


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--calls", type=int, default=1000, help="calls in one round")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each side")
    parser.add_argument("--out", type=pathlib.Path, help="write the figures here")
    options = parser.parse_args()
    device = torch.device(options.device)
    op = wp.kernel_op(product)
    sides = {
        "kernel_op": op,
        "autograd_function": wp.autograd_function(product),
        "without the library": without_library(product),
        "torch.mul": torch.mul,
    }
    rows = []
    for size in (1, 1024):
        x, y = torch.rand(size, device=device), torch.rand(size, device=device)
        for f in sides.values():
            check(f, x, y)
        runs = {name: workloads(f, x, y) for name, f in sides.items()}
        for what in runs["torch.mul"]:
            best = dict.fromkeys(sides, float("inf"))
            for _ in range(options.rounds):
                for name in sides:
                    took = measure.seconds(runs[name][what], device, options.calls, repeats=1)
                    best[name] = min(best[name], took["min"])
            row = {"elements": size, "what": what}
            row["microseconds"] = {name: 1e6 * t for name, t in best.items()}
            row["ratio"] = best["kernel_op"] / best["torch.mul"]
            rows.append(row)
            times = "  ".join(f"{name} {1e6 * t:7.2f}" for name, t in best.items())
            print(f"{size:5d} {what:26s} {times} us  op / torch.mul {row['ratio']:.2f}")
    seconds = bridge(device)
    print(f"DLPack bridge: {1e9 * seconds:.0f} ns a tensor")
    if options.out:
        record = {
            "benchmark": "op",
            "machine": measure.machine(device),
            "device": str(device),
            "bridge_microseconds": 1e6 * seconds,
            "results": rows,
        }
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
