# SPDX-License-Identifier: Apache-2.0
# WT635_struct_declaration.py: a struct without fields.
import warp_torch as wp


def wrong():
    @wp.struct
    class Nothing:
        pass
