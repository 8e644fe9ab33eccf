# SPDX-License-Identifier: Apache-2.0
# WT641_function_wanted.py: a name for a function.
import warp_torch as wp


def wrong():
    wp.map("sin", wp.zeros(3, dtype=float, device="cpu"))
