# SPDX-License-Identifier: Apache-2.0
# WT720_bundle.py: a file that is no bundle.
import warp_torch as wp


def wrong():
    wp.load_ops(__file__)
