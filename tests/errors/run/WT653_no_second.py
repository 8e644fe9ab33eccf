# SPDX-License-Identifier: Apache-2.0
# WT653_no_second.py: a second derivative of autograd_function().
import torch
import warp_torch as wp


@wp.kernel
def squares(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def wrong():
    x = torch.ones(4, requires_grad=True)
    y = wp.autograd_function(squares)(x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.sum().backward()
