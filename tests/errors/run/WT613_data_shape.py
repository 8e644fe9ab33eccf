# SPDX-License-Identifier: Apache-2.0
# WT613_data_shape.py: six elements in rows of four.
import warp_torch as wp


def wrong():
    wp.zeros(6, dtype=float, device="cpu").reshape((2, 4))
