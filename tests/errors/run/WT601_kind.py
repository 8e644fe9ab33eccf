# SPDX-License-Identifier: Apache-2.0
# WT601_kind.py: a number for a graph.
import warp_torch as wp


def wrong():
    wp.capture_launch(3)
