# SPDX-License-Identifier: Apache-2.0
# WT802_op_tensor.py: doubles for floats.
import torch
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def wrong():
    op = wp.autograd_function(scale)
    op(torch.zeros(4, dtype=torch.float64), 2.0)
