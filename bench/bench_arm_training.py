# SPDX-License-Identifier: Apache-2.0
# bench_arm_training.py: one training iteration of the robot arm against the same in pure PyTorch.
"""Loss and gradient have to be equal to 1e-5 before anything is timed.

The pure PyTorch side is examples/robot_arm/torch_dynamics.py: the same algorithm, batched over arms
and, where it is no recursion, over joints; eager and under torch.compile. Policy, cost, optimiser,
URDF and substeps are the same objects.
"""

import argparse
import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples" / "robot_arm"))

import arguments  # noqa: E402
import comparison  # noqa: E402
import measure as common  # noqa: E402
import reach  # noqa: E402
from arm_model import StepParams  # noqa: E402
from torch_dynamics import TorchArm  # noqa: E402

EQUAL = 1e-5


def compiled(model, params, device):
    """A TorchArm with a compiled substep; to compile the whole step takes minutes."""
    arm = TorchArm(model, params, device=device)
    arm.substep = torch.compile(arm.substep)
    return arm


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__)
    arguments.add_arm_options(parser)
    arguments.add_device_option(parser)
    arguments.add_threads_option(parser)
    number = arguments.positive
    parser.add_argument("--envs", type=number(int), nargs="+", default=[64], help="arms (64)")
    parser.add_argument("--repeats", type=number(int), default=20, help="of ours (20)")
    parser.add_argument("--torch-repeats", type=number(int), default=5, help="of the peers (5)")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--out", type=pathlib.Path, help="write JSON here")
    return parser.parse_args(argv)


def measure(args, model, params, task, device, envs):
    from arm import KernelArm

    torch.manual_seed(0)
    policy = reach.Policy(model).to(device)
    ours, eager = KernelArm(model, params), TorchArm(model, params, device=device)
    peers = {"torch eager": eager}
    if not args.no_compile:
        peers["torch.compile"] = compiled(model, params, device)
    loss, gradient = comparison.differences(policy, ours, eager, task, envs)
    print(f"{envs} arms: loss differs by {loss:.1e}, gradient by {gradient:.1e} (relative)")
    if not max(loss, gradient) <= EQUAL:
        raise SystemExit(f"bench_arm_training: the two are not equal to {EQUAL:g}; nothing timed")
    times = {"warp_torch": comparison.timed(policy, ours, task, envs, args.repeats, warmup=3)}
    for name, arm in peers.items():
        times[name] = comparison.timed(policy, arm, task, envs, args.torch_repeats)
    result = {"envs": envs, "loss_difference": loss, "gradient_difference": gradient, "times": {}}
    base = times["warp_torch"][1]
    for name, (low, median, high) in times.items():
        result["times"][name] = {"min": low, "median": median, "max": high, "ratio": median / base}
        print(f"  {name:14s} {1e3 * median:9.1f} ms an iteration  {median / base:6.1f}x")
    return result


def main(argv=None):
    args = parse(argv)
    device = arguments.device_of(args)
    arguments.use_threads(args, max(args.envs))
    model, params, task = arguments.arm_of(args), StepParams(), reach.Task()
    report = {
        "benchmark": "arm_training",
        "machine": common.machine(device),
        "device": str(device),
        "arm": model.name,
        "horizon": task.horizon,
        "substeps": params.substeps,
        "results": [measure(args, model, params, task, device, envs) for envs in args.envs],
    }
    if args.out:
        args.out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
