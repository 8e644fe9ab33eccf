# SPDX-License-Identifier: Apache-2.0
# WT621_foreign_type.py: complex numbers.
import torch
import warp_torch as wp


def wrong():
    wp.from_torch(torch.zeros(3, dtype=torch.complex64))
