# SPDX-License-Identifier: Apache-2.0
# WT713_config.py: a mode that is not there.
import warp_torch as wp


def wrong():
    wp.config.mode = "fast"
