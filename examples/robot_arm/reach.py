# SPDX-License-Identifier: Apache-2.0
# reach.py: the reaching task: policy, start states, goals, cost, rollout and success.
"""An arm, seen as an environment: the same code for every implementation of its step."""

import dataclasses
import typing

import torch

VALIDATION_SEED = 1_000_001  # goals watched during training
HELD_OUT_SEED = 2_000_003  # goals that decide whether the target is reached


@dataclasses.dataclass(frozen=True)
class Task:
    """What is asked of the arm, and how training cuts it into pieces."""

    goal_size: float = 0.3  # side of the cube of goals, metres
    start_noise: float = 0.1  # standard deviation of the joint angles around home, radians
    reach_time: float = 1.0  # seconds until the tip has to be there
    tolerance: float = 0.02  # metres
    required: float = 0.95  # share of goals
    horizon: int = 32  # control steps that one gradient goes back through
    windows: int = 4  # horizons from a start to the next
    velocity_cost: float = 3e-3
    torque_cost: float = 1e-4


class State(typing.NamedTuple):
    """A batch of arms and their goals, (batch, ...) each."""

    q: torch.Tensor
    v: torch.Tensor
    tip: torch.Tensor
    goal: torch.Tensor

    def detached(self):
        return State(*(part.detach() for part in self))


class Policy(torch.nn.Module):
    """A small network from joint angles, velocities, tip and goal to joint torques."""

    def __init__(self, model, hidden=64):
        super().__init__()
        self.hidden = hidden
        n = model.dof
        self.net = torch.nn.Sequential(
            torch.nn.Linear(2 * n + 6, hidden),
            torch.nn.ELU(),
            torch.nn.Linear(hidden, hidden),
            torch.nn.ELU(),
            torch.nn.Linear(hidden, n),
        )
        with torch.no_grad():  # an untrained arm starts with little torque
            self.net[-1].weight.mul_(0.1)
            self.net[-1].bias.zero_()
        for name in ("home", "goal_centre", "torque_limit"):
            value = torch.as_tensor(getattr(model, name), dtype=torch.float32)
            self.register_buffer(name, value, persistent=False)

    def forward(self, state):
        seen = [
            state.q - self.home,
            0.3 * state.v,
            5.0 * (state.goal - self.goal_centre),
            5.0 * (state.goal - state.tip),
        ]
        return self.torque_limit * torch.tanh(self.net(torch.cat(seen, dim=1)))


def start_states(policy, arm, task, count, generator=None):
    """Arms near home at rest, with goals uniform in the cube. Drawn on the CPU: one seed, one batch
    on every device."""
    home = policy.home
    noise = torch.randn(count, len(home), generator=generator).to(home)
    goal = torch.rand(count, 3, generator=generator).to(home)
    q = home + task.start_noise * noise
    goal = policy.goal_centre + task.goal_size * (goal - 0.5)
    return State(q, torch.zeros_like(q), arm.tip_position(q), goal)


def restart(policy, arm, task, state, iteration):
    """Gives every task.windows-th arm a new start and goal, each iteration others."""
    count = state.q.shape[0]
    fresh = start_states(policy, arm, task, count)
    turn = torch.arange(count, device=state.q.device) % task.windows == iteration % task.windows
    return State(*(torch.where(turn[:, None], a, b) for a, b in zip(fresh, state, strict=True)))


def rollout(policy, arm, task, state, steps=None):
    """Mean cost of a control step over the horizon, and the state after it."""
    cost = 0.0
    for _ in range(steps or task.horizon):
        torque = policy(state)
        q, v, tip = arm.step(state.q, state.v, torque)
        state = State(q, v, tip, state.goal)
        distance = ((tip - state.goal).square().sum(1) + 1e-4).sqrt()
        effort = (torque / policy.torque_limit).square().sum(1)
        moving = v.square().sum(1)
        cost = cost + (distance + task.velocity_cost * moving + task.torque_cost * effort).mean()
    return cost / (steps or task.horizon), state


@torch.no_grad()
def reach(policy, arm, task, params, count, seed):
    """Distances between tip and goal after task.reach_time, for goals that the seed names."""
    generator = torch.Generator().manual_seed(seed)
    state = start_states(policy, arm, task, count, generator)
    control_steps = round(task.reach_time / (params.dt * params.substeps))
    for _ in range(control_steps):
        q, v, tip = arm.step(state.q, state.v, policy(state))
        state = State(q, v, tip, state.goal)
    return (state.tip - state.goal).norm(dim=1)


@torch.no_grad()
def record_motion(policy, arm, task, params, goals, seed=HELD_OUT_SEED):
    """Joint angles over time, (control steps + 1, goals, dof), and the goals."""
    generator = torch.Generator().manual_seed(seed)
    state = start_states(policy, arm, task, goals, generator)
    path = [state.q]
    for _ in range(round(task.reach_time / (params.dt * params.substeps))):
        q, v, tip = arm.step(state.q, state.v, policy(state))
        state = State(q, v, tip, state.goal)
        path.append(q)
    return torch.stack(path).cpu(), state.goal.cpu()
