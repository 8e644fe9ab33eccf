# SPDX-License-Identifier: Apache-2.0
# WT509_missing_array.py: None for an array that the kernel uses.
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def zeros(n=4, dtype=float, grad=False):
    return wp.zeros(n, dtype=dtype, device="cpu", requires_grad=grad)


def wrong():
    wp.launch(scale, dim=4, inputs=[None, 2.0, zeros()], device="cpu")
