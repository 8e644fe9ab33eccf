# SPDX-License-Identifier: Apache-2.0
# ik.py: inverse kinematics of the arm with the optimisers of warp_torch.optim.
"""Finds joint angles that bring the tip to given points.

Levenberg-Marquardt sees the residuals (the tip's position, and a pull towards home that keeps the
seven-joint arm from drifting); L-BFGS sees half their squares. Both get their derivatives from the
kernel that computes the tip.
"""

import argparse
import sys
import time

import arguments
import torch
import warp_torch as wp
from arm import KernelArm
from arm_model import ArmModelError, StepParams

PULL = 1e-3  # weight of the distance from home, metres per radian


def residuals_of(model, tip_position, goal):
    """A function from joint angles (dof,) to residuals (3 + dof,)."""
    home = torch.as_tensor(model.home)

    def residuals(q):
        return torch.cat([tip_position(q[None])[0] - goal, PULL * (q - home)])

    return residuals


def solve(model, tip_position, goal, method):
    """Joint angles for one goal: (angles, summary)."""
    residuals = residuals_of(model, tip_position, goal)
    start = torch.as_tensor(model.home)
    if method == "lm":
        result = wp.optim.least_squares(residuals, start)
    else:
        result = wp.optim.minimize(
            lambda q: 0.5 * residuals(q).square().sum(), start, method="lbfgs"
        )
    return result


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
    worst_of_all = 0.0
    for method, name in (("lm", "Levenberg-Marquardt"), ("lbfgs", "L-BFGS")):
        start, worst, iterations = time.perf_counter(), 0.0, 0
        for goal in goals:
            result = solve(model, tip_position, goal, method)
            reached = torch.as_tensor(model.tip_position(result.x.numpy()))
            worst = max(worst, (reached - goal).norm().item())
            iterations += result.summary.iterations
        milliseconds = 1e3 * (time.perf_counter() - start) / args.goals
        print(
            f"{name}: {args.goals} goals, worst miss {1e3 * worst:.3f} mm, "
            f"{iterations / args.goals:.1f} iterations and {milliseconds:.2f} ms a goal"
        )
        worst_of_all = max(worst_of_all, worst)
    return 0 if worst_of_all < 1e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
