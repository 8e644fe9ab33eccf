# SPDX-License-Identifier: Apache-2.0
# WT614_dimensions.py: five dimensions.
import warp_torch as wp


def wrong():
    wp.zeros((1, 2, 3, 4, 5), dtype=float, device="cpu")
