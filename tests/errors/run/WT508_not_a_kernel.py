# SPDX-License-Identifier: Apache-2.0
# WT508_not_a_kernel.py: a launch of a plain function.
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def zeros(n=4, dtype=float, grad=False):
    return wp.zeros(n, dtype=dtype, device="cpu", requires_grad=grad)


def plain(x):
    return x


def wrong():
    wp.launch(plain, dim=4, inputs=[zeros()], device="cpu")
