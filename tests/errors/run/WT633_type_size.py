# SPDX-License-Identifier: Apache-2.0
# WT633_type_size.py: a vector of no components.
import warp_torch as wp


def wrong():
    wp.types.vector(0, float)
