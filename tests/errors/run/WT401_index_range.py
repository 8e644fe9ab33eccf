# SPDX-License-Identifier: Apache-2.0
# WT401_index_range.py: an index past the end, in checked mode.
import warp_torch as wp


def zeros(n=4, grad=True):
    return wp.zeros(n, dtype=float, device="cpu", requires_grad=grad)


@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def wrong():
    wp.config.mode = "debug"
    try:
        wp.launch(k, dim=5, inputs=[zeros(), zeros()], device="cpu")
    finally:
        wp.config.mode = "release"
