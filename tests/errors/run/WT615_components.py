# SPDX-License-Identifier: Apache-2.0
# WT615_components.py: pairs as vectors of three.
import torch
import warp_torch as wp


def wrong():
    wp.from_torch(torch.zeros(4, 2), dtype=wp.vec3)
