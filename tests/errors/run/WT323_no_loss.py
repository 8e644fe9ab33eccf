# SPDX-License-Identifier: Apache-2.0
# WT323_no_loss.py: backward from an array without gradient.
import warp_torch as wp


def zeros(n=4, grad=True):
    return wp.zeros(n, dtype=float, device="cpu", requires_grad=grad)


@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def wrong():
    x, y = zeros(1), zeros(1, grad=False)
    tape = wp.Tape()
    with tape:
        wp.launch(k, dim=1, inputs=[x, y], device="cpu")
    tape.backward(loss=y)
