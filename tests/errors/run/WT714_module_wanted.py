# SPDX-License-Identifier: Apache-2.0
# WT714_module_wanted.py: a number for a module.
import warp_torch as wp


def wrong():
    wp.load_module(3)
