# SPDX-License-Identifier: Apache-2.0
# WT403_assertion.py: an assert that does not hold, in checked mode.
import warp_torch as wp


def zeros(n=4, grad=True):
    return wp.zeros(n, dtype=float, device="cpu", requires_grad=grad)


@wp.kernel
def k(x: wp.array(dtype=float)):
    assert x[wp.tid()] > 0.0, "lengths are positive"


def wrong():
    wp.config.mode = "debug"
    try:
        wp.launch(k, dim=4, inputs=[zeros()], device="cpu")
    finally:
        wp.config.mode = "release"
