# SPDX-License-Identifier: Apache-2.0
# WT634_struct_field.py: an array of another dtype in a field.
import warp_torch as wp


@wp.struct
class Body:
    mass: float
    cells: wp.array(dtype=int)


def wrong():
    body = Body()
    body.cells = wp.zeros(3, dtype=float, device="cpu")
