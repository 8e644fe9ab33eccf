# SPDX-License-Identifier: Apache-2.0
# WT625_gradient_lost.py: DLPack has no gradients.
import torch
import warp_torch as wp


def wrong():
    wp.from_dlpack(torch.zeros(3, requires_grad=True))
