# SPDX-License-Identifier: Apache-2.0
# WT631_value_kind.py: a fraction in a vector of integers.
import warp_torch as wp


def wrong():
    wp.vec3i(1, 2, 3.5)
