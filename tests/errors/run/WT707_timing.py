# SPDX-License-Identifier: Apache-2.0
# WT707_timing.py: the end of no timing.
import warp_torch as wp


def wrong():
    wp.timing_end()
