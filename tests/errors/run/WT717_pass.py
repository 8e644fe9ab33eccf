# SPDX-License-Identifier: Apache-2.0
# WT717_pass.py: a pass that is no function.
import warp_torch as wp


def wrong():
    wp.register_ir_pass("mine", 3)
