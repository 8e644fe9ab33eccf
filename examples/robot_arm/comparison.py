# SPDX-License-Identifier: Apache-2.0
# comparison.py: one training iteration, with the kernel and in pure PyTorch.
"""Equal first, then timed: both sides run the same policy, cost, optimiser and random numbers."""

import copy
import statistics
import time

import reach
import torch


def sample_iteration(policy, arm, task, envs, seed=0):
    """A function that runs one iteration up to the gradient: (loss, gradient as one vector)."""
    generator = torch.Generator().manual_seed(seed)
    state = reach.start_states(policy, arm, task, envs, generator)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.0)

    def iteration():
        optimizer.zero_grad()
        loss, _ = reach.rollout(policy, arm, task, state)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        return loss

    return iteration


def gradient(policy, iteration):
    loss = iteration()
    return loss.detach(), torch.cat([p.grad.flatten() for p in policy.parameters()])


def differences(policy, first, second, task, envs):
    """Relative difference of loss and of gradient (in norm) between two arms."""
    results = []
    for arm in (first, second):
        twin = copy.deepcopy(policy)
        results.append(gradient(twin, sample_iteration(twin, arm, task, envs)))
    (loss_a, grad_a), (loss_b, grad_b) = results
    return (
        ((loss_a - loss_b).abs() / loss_b.abs()).item(),
        ((grad_a - grad_b).norm() / grad_b.norm()).item(),
    )


def timed(policy, arm, task, envs, repeats, warmup=1):
    """Seconds of one iteration: minimum, median, maximum."""
    twin = copy.deepcopy(policy)
    iteration = sample_iteration(twin, arm, task, envs)
    device = twin.home.device
    for _ in range(warmup):
        iteration()
    seconds = []
    for _ in range(repeats):
        _wait(device)
        start = time.perf_counter()
        iteration()
        _wait(device)
        seconds.append(time.perf_counter() - start)
    return min(seconds), statistics.median(seconds), max(seconds)


def _wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)
