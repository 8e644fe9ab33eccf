# SPDX-License-Identifier: Apache-2.0
# WT801_op_arguments.py: an op without one of its arguments.
import torch
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def wrong():
    op = wp.kernel_op(scale)
    op(torch.zeros(4))
