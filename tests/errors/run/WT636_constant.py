# SPDX-License-Identifier: Apache-2.0
# WT636_constant.py: a string as a constant.
import warp_torch as wp


def wrong():
    wp.constant("name")
