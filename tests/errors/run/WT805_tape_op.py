# SPDX-License-Identifier: Apache-2.0
# WT805_tape_op.py: a function that returns a number.
import torch
import warp_torch as wp


def shrink(x):
    return 3


def wrong():
    wp.tape_op(shrink)(torch.ones(3))
