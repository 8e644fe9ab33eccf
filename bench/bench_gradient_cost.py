# SPDX-License-Identifier: Apache-2.0
# bench_gradient_cost.py: forward and adjoint over forward alone, for ten kernels.
"""What a gradient costs: the time of a launch on a tape and its backward over that of the launch,
and the bytes that are kept (logs, copies) or used meanwhile (loop history)."""

import argparse
import json
import pathlib
import statistics

import gradient_kernels
import measure
import torch
import warp_torch as wp


def row_of(name, kernel, dim, inputs, output, device):
    cotangents = {inputs[output]: wp.ones_like(inputs[output], requires_grad=False)}
    tape = wp.Tape()

    def forward():
        wp.launch(kernel, dim, inputs=inputs)

    def both():
        tape.reset()
        with tape:
            wp.launch(kernel, dim, inputs=inputs)
        tape.backward(grads=cotangents)

    alone = measure.seconds(forward, device)
    together = measure.seconds(both, device)
    stats = tape.stats()
    return {
        "name": name,
        "threads": dim,
        "forward": alone,
        "forward and adjoint": together,
        "ratio": together["median"] / alone["median"],
        "log_bytes": stats["log_bytes"],
        "saved_bytes": stats["saved_bytes"],
        "scratch_bytes": stats["scratch_bytes"],
    }


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--scale", type=int, help="size of the launches; 1 on the CPU, 16 on a GPU")
    parser.add_argument("--only", nargs="*", help="names of kernels")
    parser.add_argument("--out", type=pathlib.Path, help="write JSON here")
    args = parser.parse_args(argv)
    device = torch.device(args.device)
    wp.set_device(args.device)
    rows = []
    scale = args.scale or (16 if device.type == "cuda" else 1)
    for name, case in gradient_kernels.cases(scale).items():
        if args.only and name not in args.only:
            continue
        row = row_of(name, *case, device)
        rows.append(row)
        kept = row["log_bytes"] + row["saved_bytes"]
        print(
            f"{name:18s} forward {1e3 * row['forward']['median']:9.3f} ms  with adjoint "
            f"{1e3 * row['forward and adjoint']['median']:9.3f} ms  ratio {row['ratio']:5.2f}  "
            f"kept {kept * 1e-6:8.2f} MB  scratch {row['scratch_bytes'] * 1e-6:8.2f} MB"
        )
    ratio = statistics.median(r["ratio"] for r in rows)
    print(f"median ratio {ratio:.2f}")
    report = {
        "benchmark": "gradient_cost",
        "machine": measure.machine(device),
        "scale": scale,
        "median_ratio": ratio,
        "results": rows,
    }
    if args.out:
        args.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
