# SPDX-License-Identifier: Apache-2.0
# WT632_mixed_scalars.py: float32 and float64.
import warp_torch as wp


def wrong():
    wp.float32(1.0) + wp.float64(2.0)
