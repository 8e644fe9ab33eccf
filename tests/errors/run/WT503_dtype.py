# SPDX-License-Identifier: Apache-2.0
# WT503_dtype.py: an array of another dtype.
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def zeros(n=4, dtype=float, grad=False):
    return wp.zeros(n, dtype=dtype, device="cpu", requires_grad=grad)


def wrong():
    wp.launch(scale, dim=4, inputs=[zeros(dtype=wp.float64), 2.0, zeros()], device="cpu")
