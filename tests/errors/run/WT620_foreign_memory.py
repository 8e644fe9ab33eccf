# SPDX-License-Identifier: Apache-2.0
# WT620_foreign_memory.py: a sparse tensor.
import torch
import warp_torch as wp


def wrong():
    wp.from_torch(torch.eye(3).to_sparse())
