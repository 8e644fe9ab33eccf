# SPDX-License-Identifier: Apache-2.0
# train.py: trains a policy that reaches for goals, through a differentiable simulation of an arm.
"""Trains a robot arm to reach: an ordinary PyTorch loop over a simulation written as a kernel.

Reads the arm's URDF, simulates many copies, and trains a small network by gradients that go back
through the simulation. Writes policy.pt, learning_curve.png, motion.png and summary.txt.
Exit status: 0 target reached, 1 not reached, 2 something is wrong with what was given,
130 stopped by Ctrl-C (after saving).
"""

import argparse
import dataclasses
import pathlib
import sys
import time

import arguments
import checkpoint
import comparison
import plots
import reach
import torch
import tqdm
from arm_model import ArmModelError, StepParams
from torch_dynamics import TorchArm


def parse(argv):
    task, number = reach.Task(), arguments.positive
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_arm_options(parser)
    group = parser.add_argument_group("training")
    arguments.add_device_option(group)
    arguments.add_threads_option(group)
    group.add_argument("--seed", type=int, nargs="+", default=[0], help="one training per seed")
    group.add_argument("--envs", type=number(int), default=64, help="arms at once (64)")
    group.add_argument("--iterations", type=number(int), default=200, help="gradient steps (200)")
    group.add_argument("--lr", type=number(float), default=3e-3, help="highest learning rate")
    group.add_argument("--hidden", type=number(int), default=64, help="width of the policy (64)")
    group.add_argument("--clip", type=number(float), default=1.0, help="limit of the gradient norm")
    group.add_argument("--horizon", type=number(int), default=task.horizon,
                       help="control steps that a gradient goes back through (32)")  # fmt: skip
    group.add_argument("--substeps", type=number(int), default=StepParams.substeps,
                       help="simulation steps in a control step (5)")  # fmt: skip
    group.add_argument("--dt", type=number(float), default=StepParams.dt,
                       help="seconds of a simulation step (0.002)")  # fmt: skip
    group = parser.add_argument_group("result")
    group.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/robot_arm"),
                       help="folder of the results (out/robot_arm)")  # fmt: skip
    group.add_argument("--goals", type=number(int), default=1000, help="held-out goals (1000)")
    group.add_argument("--compare", type=int, default=2, metavar="N",
                       help="iterations of pure PyTorch to time beside (2; 0: none)")  # fmt: skip
    return parser.parse_args(argv)


class Training:
    """One policy, its optimiser and its environment."""

    def __init__(self, args, model, arm, params, task, device, seed):
        torch.manual_seed(seed)
        self.args, self.arm, self.params, self.task = args, arm, params, task
        self.policy = reach.Policy(model, args.hidden).to(device)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=args.lr)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, args.lr, total_steps=args.iterations + 1, pct_start=0.1
        )
        self.state = reach.start_states(self.policy, arm, task, args.envs)
        self.history = []

    def iterate(self, iteration):
        """One gradient step; returns the loss."""
        if iteration >= self.task.windows:
            self.state = reach.restart(self.policy, self.arm, self.task, self.state, iteration)
        loss, state = reach.rollout(self.policy, self.arm, self.task, self.state)
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.args.clip)
        value = loss.item()
        if not torch.isfinite(norm):
            raise ValueError(
                f"the gradient is {norm.item()} in iteration {iteration}: the simulation blew up; "
                f"lower --lr or --dt"
            )
        self.optimizer.step()
        self.schedule.step()
        self.state = state.detached()
        return value

    def run(self):
        """All iterations under a progress bar; False where Ctrl-C ended it."""
        args, task = self.args, self.task
        every = max(1, args.iterations // 10)
        simulated, start, success = args.envs * task.horizon, time.perf_counter(), 0.0
        with tqdm.trange(args.iterations, unit="it", dynamic_ncols=True) as bar:
            try:
                for iteration in bar:
                    loss = self.iterate(iteration)
                    checked = (iteration + 1) % every == 0
                    if checked:
                        success = self.success(200, reach.VALIDATION_SEED)
                    self.history.append(
                        {"iteration": iteration + 1, "loss": loss,
                         "success": success if checked else None}
                    )  # fmt: skip
                    rate = simulated * (iteration + 1) / (time.perf_counter() - start)
                    bar.set_postfix_str(
                        f"loss {loss:.4f}, success {success:.0%}, {rate:,.0f} env-steps/s",
                        refresh=False,
                    )
            except KeyboardInterrupt:
                return False
        return True

    def success(self, count, seed):
        """Share of goals that the tip is near at the end."""
        distance = reach.reach(self.policy, self.arm, self.task, self.params, count, seed)
        return (distance < self.task.tolerance).double().mean().item()


def compare(args, model, kernel_arm, params, task, device):
    """Lines that set one iteration beside the same in pure PyTorch; equality comes first."""
    torch.manual_seed(0)
    policy = reach.Policy(model, args.hidden).to(device)
    torch_arm = TorchArm(model, params, device=device)
    loss, gradient = comparison.differences(policy, kernel_arm, torch_arm, task, args.envs)
    if not max(loss, gradient) < 1e-4:
        raise ValueError(
            f"kernel and pure PyTorch disagree: loss by {loss:.1e}, gradient by {gradient:.1e}"
        )
    ours = comparison.timed(policy, kernel_arm, task, args.envs, max(5, args.compare))[1]
    theirs = comparison.timed(policy, torch_arm, task, args.envs, args.compare, warmup=0)[1]
    return [
        "the same iteration in pure PyTorch (eager, same URDF, substeps and policy):",
        f"  equal to {loss:.0e} in the loss and {gradient:.0e} in the gradient (relative, float32)",
        f"  {1e3 * theirs:,.0f} ms against {1e3 * ours:,.0f} ms: {theirs / ours:.1f} times slower;"
        f" this training would take {theirs * args.iterations:,.0f} s",
    ]


def summary(args, model, task, training, seconds, distance, device):
    """(lines, whether the target is reached)."""
    done = len(training.history)
    steps = done * args.envs * task.horizon
    share = (distance < task.tolerance).double().mean().item()
    reached = share >= task.required
    lines = [
        f"{model.name}: {model.dof} joints, {model.mass.sum():.2f} kg moving, tip {model.tip_name}",
        f"  from {model.source}",
        f"{done} iterations of {args.envs} arms x {task.horizon} control steps x {args.substeps} "
        f"substeps on {device} in {seconds:.1f} s: {steps / seconds:,.0f} env-steps/s",
        f"{len(distance)} held-out goals in a cube of {task.goal_size:g} m: {share:.1%} within "
        f"{100 * task.tolerance:g} cm after {task.reach_time:g} s, mean distance "
        f"{100 * distance.mean().item():.2f} cm, {(distance < 0.05).double().mean().item():.1%} "
        f"within 5 cm",
        f"target ({task.required:.0%}): {'reached' if reached else 'NOT reached'}",
    ]
    return lines, reached


def train_one(args, model, arm, params, task, device, seed, out):
    """One seed from start to summary; returns an exit status."""
    out.mkdir(parents=True, exist_ok=True)
    training = Training(args, model, arm, params, task, device, seed)
    start = time.perf_counter()
    complete = training.run()
    seconds = time.perf_counter() - start
    source = args.robot if args.urdf is None else str(args.urdf.resolve())
    arm_options = {"file": source, "tip": args.tip, "lock": args.lock}
    path = out / "policy.pt"
    checkpoint.save(path, arm_options, params, task, training.policy, training.history, seed)
    if training.history:
        plots.learning_curve(training.history, task, out / "learning_curve.png")
    if not complete:
        print(f"stopped after {len(training.history)} iterations; saved {path}")
        return 130
    distance = reach.reach(training.policy, arm, task, params, args.goals, reach.HELD_OUT_SEED)
    lines, reached = summary(args, model, task, training, seconds, distance.cpu(), device)
    plots.motion(
        model, *reach.record_motion(training.policy, arm, task, params, 4), out / "motion.png"
    )
    if args.compare > 0:
        lines += compare(args, model, arm, params, task, device)
    text = "\n".join([f"seed {seed}", *lines])
    (out / "summary.txt").write_text(text + "\n")
    print(f"{text}\nwrote policy.pt, learning_curve.png, motion.png, summary.txt into {out}/")
    return 0 if reached else 1


def main(argv=None):
    args = parse(argv)
    try:
        device = arguments.device_of(args)
        arguments.use_threads(args, args.envs)
        model = arguments.arm_of(args)
        params = StepParams(dt=args.dt, substeps=args.substeps)
        task = dataclasses.replace(reach.Task(), horizon=args.horizon)
        from arm import KernelArm  # after the options are checked: this compiles

        arm = KernelArm(model, params)
        status = 0
        for seed in args.seed:
            out = args.out if len(args.seed) == 1 else args.out / f"seed{seed}"
            status = max(status, train_one(args, model, arm, params, task, device, seed, out))
            if status == 130:
                break
        return status
    except (ArmModelError, ValueError, OSError) as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("train.py: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
