# SPDX-License-Identifier: Apache-2.0
# WT653_no_second.py: a second derivative of tape_op().
import torch
import warp_torch as wp


@wp.kernel
def squares(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.tape_op
def energy(x: wp.array(dtype=float)):
    y = wp.empty_like(x)
    wp.launch(squares, x.shape[0], [x], [y])
    return y


def wrong():
    x = torch.ones(4, requires_grad=True)
    (g,) = torch.autograd.grad(energy(x).sum(), x, create_graph=True)
    g.sum().backward()
