# SPDX-License-Identifier: Apache-2.0
# WT302_lost_in_array.py: a value passes through an array without gradient.
import warp_torch as wp


def zeros(n=4, grad=True):
    return wp.zeros(n, dtype=float, device="cpu", requires_grad=grad)


@wp.kernel
def run(x: wp.array(dtype=float), t: wp.array(dtype=float), y: wp.array(dtype=float), k: int):
    i = wp.tid()
    t[i] = x[i] * x[i]
    y[i] = t[i + k] + 1.0


def wrong():
    x, t, y = zeros(), zeros(grad=False), zeros()
    tape = wp.Tape()
    with tape:
        wp.launch(run, dim=4, inputs=[x, t, y, 0], device="cpu")
    tape.backward(grads={y: wp.ones_like(y)})
