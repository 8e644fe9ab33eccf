# SPDX-License-Identifier: Apache-2.0
# bench_gradient_cost.py: forward and adjoint over forward alone, for ten kernels.
"""What a gradient costs: the time of forward and adjoint over that of the forward alone, and the
bytes that are kept (logs, copies) or used meanwhile (loop history). Both ways of a user: `op` is a
`kernel_op` under PyTorch's autograd, whose gradients are new tensors each time; `tape` is a launch
on a `wt.Tape`, with a reset() that zeroes the gradients of the time before. Their gradients are
compared before anything is timed."""

import argparse
import json
import pathlib
import statistics

import gradient_kernels
import measure
import numpy as np
import torch
import warp_torch as wp


def op_runs(kernel, inputs, output, shapes, device):
    """The forward; and forward and backward, which returns the gradients of the op's inputs."""
    op = wp.kernel_op(kernel, outputs=shapes)
    taken = {argument.name for argument in op.schema.arguments}
    args = [
        torch.from_numpy(a.numpy()).to(device) if isinstance(a, wp.array) else a
        for name, a in zip(kernel.params, inputs)
        if name in taken
    ]
    floats = [a.requires_grad_() for a in args if torch.is_tensor(a) and a.is_floating_point()]
    cotangent = torch.ones(inputs[output].numpy().shape, device=device)

    def forward():
        with torch.no_grad():
            return op(*args)

    def both():
        results = op(*args)
        first = results[0] if isinstance(results, tuple) else results
        return torch.autograd.grad(first, floats, cotangent)

    return forward, both


def tape_runs(kernel, dim, inputs, output):
    """The forward; and forward and backward, which returns the tape."""
    cotangents = {inputs[output]: wp.ones_like(inputs[output], requires_grad=False)}
    tape = wp.Tape()

    def forward():
        wp.launch(kernel, dim, inputs=inputs)

    def both():
        tape.reset()
        with tape:
            wp.launch(kernel, dim, inputs=inputs)
        tape.backward(grads=cotangents)
        return tape

    return forward, both


def compare(name, gradients, inputs, output):
    """The op's `gradients` are those that the tape's backward has left beside `inputs`."""
    arrays = [a for a in inputs if isinstance(a, wp.array) and a.requires_grad]
    if len(arrays) > len(gradients):
        arrays = arrays[: len(gradients)]  # inputs come before results
    for got, array in zip(gradients, arrays):
        np.testing.assert_allclose(
            got.cpu().numpy(), array.grad.numpy(), rtol=1e-3, atol=1e-4, err_msg=name
        )


def row_of(name, case, device):
    kernel, dim, inputs, output, *shapes = case
    op = op_runs(kernel, inputs, output, *shapes or [None], device)
    gradients = op[1]()
    tape = tape_runs(kernel, dim, inputs, output)
    stats = tape[1]().stats()
    compare(name, gradients, inputs, output)
    del gradients
    row = {"name": name, "threads": dim}
    calls = 8 if device.type == "cuda" else 1  # so that the device always has work waiting
    for route, (forward, both) in {"op": op, "tape": tape}.items():
        alone, together = (measure.seconds(run, device, calls) for run in (forward, both))
        row[route] = {
            "forward": alone,
            "forward and adjoint": together,
            "ratio": together["median"] / alone["median"],
        }
    return row | {n: stats[n] for n in ("log_bytes", "saved_bytes", "scratch_bytes")}


def show(row):
    times = "   ".join(
        f"{route}: {1e3 * row[route]['forward']['median']:8.3f} ms, with adjoint "
        f"{1e3 * row[route]['forward and adjoint']['median']:8.3f} ms, {row[route]['ratio']:5.2f}"
        for route in ("op", "tape")
    )
    kept = 1e-6 * (row["log_bytes"] + row["saved_bytes"])
    print(
        f"{row['name']:17s} {times}   kept {kept:.1f} MB, scratch {1e-6 * row['scratch_bytes']:.1f}"
    )


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--scale", type=int, help="size of the launches; 1 on the CPU, 16 on a GPU")
    parser.add_argument("--only", nargs="*", help="names of kernels")
    parser.add_argument("--out", type=pathlib.Path, help="write JSON here")
    args = parser.parse_args(argv)
    device = torch.device(args.device)
    wp.set_device(args.device)
    scale = args.scale or (16 if device.type == "cuda" else 1)
    rows = []
    for name, case in gradient_kernels.cases(scale).items():
        if args.only and name not in args.only:
            continue
        rows.append(row_of(name, case, device))
        show(rows[-1])
    medians = {r: statistics.median(row[r]["ratio"] for row in rows) for r in ("op", "tape")}
    print("median ratio: " + ", ".join(f"{route} {m:.2f}" for route, m in medians.items()))
    report = {
        "benchmark": "gradient_cost",
        "machine": measure.machine(device),
        "scale": scale,
        "median_ratio": medians,
        "results": rows,
    }
    if args.out:
        args.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
