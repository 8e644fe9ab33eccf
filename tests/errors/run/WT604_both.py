# SPDX-License-Identifier: Apache-2.0
# WT604_both.py: data and an address.
import warp_torch as wp


def wrong():
    wp.array([1.0, 2.0], ptr=4096, dtype=float, device="cpu")
