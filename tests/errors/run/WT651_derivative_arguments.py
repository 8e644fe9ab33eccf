# SPDX-License-Identifier: Apache-2.0
# WT651_derivative_arguments.py: a cotangent for what the kernel does not write.
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def wrong():
    x = wp.zeros(4, dtype=float, device="cpu")
    wp.vjp(scale, [x, 2.0], {"s": x})
