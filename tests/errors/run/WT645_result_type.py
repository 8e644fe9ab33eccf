# SPDX-License-Identifier: Apache-2.0
# WT645_result_type.py: a map whose result no type fits.
import warp_torch as wp


@wp.struct
class Pair:
    a: float
    b: float


@wp.func
def pair(x: float):
    p = Pair()
    p.a = x
    return p


def wrong():
    wp.map(pair, wp.zeros(3, dtype=float, device="cpu"))
