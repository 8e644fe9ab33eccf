# SPDX-License-Identifier: Apache-2.0
# WT630_value_count.py: two numbers for three components.
import warp_torch as wp


def wrong():
    wp.vec3(1.0, 2.0)
