# SPDX-License-Identifier: Apache-2.0
# WT617_count.py: more elements than there are.
import warp_torch as wp


def wrong():
    x, y = wp.zeros(3, device="cpu"), wp.zeros(3, device="cpu")
    wp.copy(x, y, dest_offset=2, count=2)
