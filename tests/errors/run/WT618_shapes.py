# SPDX-License-Identifier: Apache-2.0
# WT618_shapes.py: arrays of different lengths.
import warp_torch as wp


def wrong():
    wp.zeros(3, device="cpu") + wp.zeros(2, device="cpu")
