# SPDX-License-Identifier: Apache-2.0
# WT402_not_finite.py: a division by zero with config.verify_fp.
import warp_torch as wp


def zeros(n=4, grad=True):
    return wp.zeros(n, dtype=float, device="cpu", requires_grad=grad)


@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 1.0 / x[i]


def wrong():
    wp.config.verify_fp = True
    try:
        wp.launch(k, dim=4, inputs=[zeros(), zeros()], device="cpu")
    finally:
        wp.config.verify_fp = False
