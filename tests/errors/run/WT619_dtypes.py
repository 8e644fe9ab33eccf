# SPDX-License-Identifier: Apache-2.0
# WT619_dtypes.py: a copy of floats to integers.
import warp_torch as wp


def wrong():
    wp.copy(wp.zeros(3, dtype=int, device="cpu"), wp.zeros(3, dtype=float, device="cpu"))
