# SPDX-License-Identifier: Apache-2.0
# WT702_unknown_device.py: a device that no one has.
import warp_torch as wp


def wrong():
    wp.get_device("gpu")
