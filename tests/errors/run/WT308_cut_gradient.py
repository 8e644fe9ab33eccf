# SPDX-License-Identifier: Apache-2.0
# WT308_cut_gradient.py: an array without gradient between two launches of a tape.
import warp_torch as wp


def zeros(n=4, grad=True):
    return wp.zeros(n, dtype=float, device="cpu", requires_grad=grad)


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def wrong():
    x, t, y = zeros(), zeros(grad=False), zeros()
    with wp.Tape():
        wp.launch(square, dim=4, inputs=[x, t], device="cpu")
        wp.launch(square, dim=4, inputs=[t, y], device="cpu")
