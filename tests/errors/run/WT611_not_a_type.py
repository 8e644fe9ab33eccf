# SPDX-License-Identifier: Apache-2.0
# WT611_not_a_type.py: strings in an array.
import warp_torch as wp


def wrong():
    wp.zeros(4, dtype=str, device="cpu")
