# SPDX-License-Identifier: Apache-2.0
# WT803_op_shape.py: a shape that cannot be read.
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def wrong():
    wp.kernel_op(scale, outputs={"y": "x.shape[0] +"})
