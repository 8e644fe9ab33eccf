# SPDX-License-Identifier: Apache-2.0
# WT623_not_contiguous.py: reshape of a transposed array.
import warp_torch as wp


def wrong():
    wp.zeros((2, 3), dtype=float, device="cpu").transpose().flatten()
