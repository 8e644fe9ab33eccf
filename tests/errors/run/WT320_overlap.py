# SPDX-License-Identifier: Apache-2.0
# WT320_overlap.py: two views of one array, one of them written.
import warp_torch as wp


def zeros(n=4, grad=True):
    return wp.zeros(n, dtype=float, device="cpu", requires_grad=grad)


@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def wrong():
    x = zeros()
    tape = wp.Tape()
    with tape:
        wp.launch(k, dim=3, inputs=[x[1:], x[:3]], device="cpu")
    tape.backward(grads={x: wp.ones_like(x)})
