# SPDX-License-Identifier: Apache-2.0
# WT512_tensor_gradient.py: a tensor that requires a gradient, off a tape.
import torch
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def zeros(n=4, dtype=float, grad=False):
    return wp.zeros(n, dtype=dtype, device="cpu", requires_grad=grad)


def wrong():
    x = torch.ones(4, requires_grad=True)
    wp.launch(scale, dim=4, inputs=[x, 2.0, torch.zeros(4)])
