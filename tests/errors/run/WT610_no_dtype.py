# SPDX-License-Identifier: Apache-2.0
# WT610_no_dtype.py: an array of which nothing says what it holds.
import warp_torch as wp


def wrong():
    wp.indexedarray()
