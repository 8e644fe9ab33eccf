# SPDX-License-Identifier: Apache-2.0
# evaluate.py: loads a checkpoint of train.py and measures how well its policy reaches.
"""Measures a trained policy on held-out goals, and draws its motion.

Exit status: 0 target reached, 1 not reached, 2 something is wrong with what was given.
"""

import argparse
import pathlib
import sys

import arguments
import checkpoint
import reach
import torch


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=pathlib.Path, nargs="?",
                        default=pathlib.Path("out/robot_arm/policy.pt"),
                        help="what train.py wrote (out/robot_arm/policy.pt)")  # fmt: skip
    arguments.add_device_option(parser)
    number = arguments.positive
    parser.add_argument("--goals", type=number(int), default=1000, help="how many (1000)")
    parser.add_argument("--seed", type=int, default=reach.HELD_OUT_SEED,
                        help="of the goals and starts; default: that of train.py")  # fmt: skip
    parser.add_argument("--motion", type=pathlib.Path, metavar="PNG", help="draw the motion here")
    return parser.parse_args(argv)


def report(distance, task):
    centimetres = 100.0 * distance.double()
    quantiles = torch.quantile(centimetres, torch.tensor([0.5, 0.95, 1.0], dtype=torch.float64))
    lines = [f"{len(distance)} goals, {task.reach_time:g} s each"]
    for bound in sorted({1.0, 100.0 * task.tolerance, 5.0}):
        lines.append(f"  within {bound:g} cm: {(centimetres < bound).double().mean().item():.1%}")
    lines.append(
        "  distance: mean {:.2f} cm, median {:.2f}, 95 % below {:.2f}, largest {:.2f}".format(
            centimetres.mean().item(), *quantiles.tolist()
        )
    )
    return "\n".join(lines)


def main(argv=None):
    args = parse(argv)
    try:
        device = arguments.device_of(args)
        model, params, task, policy, history = checkpoint.load(args.checkpoint, device)
        from arm import KernelArm  # after the options are checked: this compiles

        arm = KernelArm(model, params)
        distance = reach.reach(policy, arm, task, params, args.goals, args.seed).cpu()
        print(f"{model.name}, {len(history)} iterations of training: {report(distance, task)}")
        if args.motion:
            import plots

            path = reach.record_motion(policy, arm, task, params, 4, args.seed)
            plots.motion(model, *path, args.motion)
        reached = (distance < task.tolerance).double().mean().item() >= task.required
        print(f"target ({task.required:.0%}): {'reached' if reached else 'NOT reached'}")
        return 0 if reached else 1
    except (ValueError, OSError) as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
