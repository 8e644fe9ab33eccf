# SPDX-License-Identifier: Apache-2.0
# WT616_index.py: an index past the end.
import warp_torch as wp


def wrong():
    wp.zeros(3, dtype=float, device="cpu")[3]
