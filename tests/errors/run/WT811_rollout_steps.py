# SPDX-License-Identifier: Apache-2.0
# WT811_rollout_steps.py: a negative number of steps.
import torch
import warp_torch as wp


@wp.kernel
def step(q: wp.array(dtype=float), q_next: wp.array(dtype=float)):
    i = wp.tid()
    q_next[i] = 0.5 * q[i]


def wrong():
    wp.rollout(step, carry={"q": "q_next"}, steps=-1)(torch.zeros(4))
