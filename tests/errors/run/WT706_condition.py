# SPDX-License-Identifier: Apache-2.0
# WT706_condition.py: a number as a condition.
import warp_torch as wp


def wrong():
    wp.capture_if(1, on_true=print)
