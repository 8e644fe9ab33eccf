# SPDX-License-Identifier: Apache-2.0
# WT622_view_size.py: floats seen as doubles.
import warp_torch as wp


def wrong():
    wp.zeros(4, dtype=float, device="cpu").view(wp.float64)
