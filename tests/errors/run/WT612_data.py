# SPDX-License-Identifier: Apache-2.0
# WT612_data.py: rows of different lengths.
import warp_torch as wp


def wrong():
    wp.array([[1.0, 2.0], [3.0]], dtype=float, device="cpu")
