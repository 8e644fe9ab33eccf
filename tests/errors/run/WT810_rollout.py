# SPDX-License-Identifier: Apache-2.0
# WT810_rollout.py: nothing that one step hands to the next.
import warp_torch as wp


@wp.kernel
def step(q: wp.array(dtype=float), q_next: wp.array(dtype=float)):
    i = wp.tid()
    q_next[i] = 0.5 * q[i]


def wrong():
    wp.rollout(step, 10, carry={})
