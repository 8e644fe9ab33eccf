# SPDX-License-Identifier: Apache-2.0
# WT637_host_call.py: a builtin of a string.
import warp_torch as wp


def wrong():
    wp.sin("x")
