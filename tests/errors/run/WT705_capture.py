# SPDX-License-Identifier: Apache-2.0
# WT705_capture.py: the end of no capture.
import warp_torch as wp


def wrong():
    wp.capture_end()
