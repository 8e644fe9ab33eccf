# SPDX-License-Identifier: Apache-2.0
# WT644_overload.py: an overload with too few types.
import warp_torch as wp


@wp.kernel
def double(x: wp.array(dtype=wp.Float), s: wp.Float):
    i = wp.tid()
    x[i] = s * x[i]


def wrong():
    wp.overload(double, [wp.array(dtype=float)])
