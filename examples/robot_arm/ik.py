# SPDX-License-Identifier: Apache-2.0
# ik.py: inverse kinematics of the arm with the optimisers of warp_torch.optim.
"""Finds joint angles that bring the tip to given points.

Levenberg-Marquardt sees the residuals (the tip's position, and a pull towards home that keeps the
seven-joint arm from drifting) and solves all goals at once, one launch an evaluation; L-BFGS sees
half the sum of their squares, one goal after the other. Both get their derivatives from the kernel
that computes the tip. Exit status: 0 if all goals are met to a millimetre, 1 if not, 2 for bad
options.
"""

import argparse
import sys
import time

import arguments
import numpy as np
import torch
import warp_torch as wp
from arm import KernelArm
from arm_model import ArmModelError, StepParams
from warp_torch import optim

PULL = 1e-3  # weight of the distance from home, metres per radian


def residuals(model, tip_position, goals):
    """A function from joint angles (goals, dof) to residuals (goals, 3 + dof)."""
    home = torch.as_tensor(model.home)
    return lambda q: torch.cat([tip_position(q) - goals, PULL * (q - home)], dim=1)


def levenberg_marquardt(model, tip_position, goals):
    """(joint angles, mean iterations) for all goals, solved together."""
    start = torch.as_tensor(model.home).repeat(len(goals), 1)
    summary = optim.least_squares_batch(residuals(model, tip_position, goals), start)
    return summary.x, summary.iterations.mean()


def lbfgs(model, tip_position, goals):
    """(joint angles, mean iterations), goal after goal."""
    start = torch.as_tensor(model.home)
    found = []
    for goal in goals:
        rest = residuals(model, tip_position, goal)
        found.append(optim.minimize(lambda q, r=rest: 0.5 * r(q[None]).square().sum(), start))
    return torch.stack([s.x for s in found]), sum(s.iterations for s in found) / len(goals)


def goals_of(model, count, seed):
    generator = torch.Generator().manual_seed(seed)
    offset = torch.rand(count, 3, generator=generator, dtype=torch.float64) - 0.5
    return torch.as_tensor(model.goal_centre) + 0.3 * offset


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_arm_options(parser)
    parser.add_argument("--goals", type=arguments.positive(int), default=20, help="how many (20)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    try:
        model = arguments.arm_of(args)
    except (ArmModelError, OSError) as error:
        print(f"ik.py: {error}", file=sys.stderr)
        return 2
    tip_position = KernelArm(model, StepParams(), dtype=wp.float64).tip_position
    goals = goals_of(model, args.goals, args.seed)
    largest = 0.0
    for name, solve in (("Levenberg-Marquardt", levenberg_marquardt), ("L-BFGS", lbfgs)):
        start = time.perf_counter()
        angles, iterations = solve(model, tip_position, goals)
        milliseconds = 1e3 * (time.perf_counter() - start) / args.goals
        reached = torch.tensor(np.array([model.tip_position(q) for q in angles.numpy()]))
        worst = (reached - goals).norm(dim=1).max().item()
        largest = max(largest, worst)
        print(
            f"{name}: {args.goals} goals, {iterations:.1f} iterations and {milliseconds:.2f} ms a "
            f"goal, largest miss {1e3 * worst:.3f} mm"
        )
    return 0 if largest < 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
