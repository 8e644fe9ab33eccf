# SPDX-License-Identifier: Apache-2.0
# WT704_event.py: a time between events that were not recorded.
import warp_torch as wp


def wrong():
    start, end = wp.Event("cpu", enable_timing=True), wp.Event("cpu", enable_timing=True)
    wp.get_event_elapsed_time(start, end)
