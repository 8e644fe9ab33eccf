# SPDX-License-Identifier: Apache-2.0
# WT643_kernel_called.py: a kernel called as a function.
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def wrong():
    x = wp.zeros(4, dtype=float, device="cpu")
    scale(x, 2.0, x)
