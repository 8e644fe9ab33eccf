# SPDX-License-Identifier: Apache-2.0
# WT506_range.py: a number that the parameter cannot hold.
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def zeros(n=4, dtype=float, grad=False):
    return wp.zeros(n, dtype=dtype, device="cpu", requires_grad=grad)


@wp.kernel
def count(n: int, y: wp.array(dtype=int)):
    y[0] = n


def wrong():
    wp.launch(count, dim=1, inputs=[2**40, zeros(1, dtype=int)], device="cpu")
