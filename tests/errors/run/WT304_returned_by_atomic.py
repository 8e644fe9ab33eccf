# SPDX-License-Identifier: Apache-2.0
# WT304_returned_by_atomic.py: the value that an atomic returns is used as a float.
import warp_torch as wp


def zeros(n=4, grad=True):
    return wp.zeros(n, dtype=float, device="cpu", requires_grad=grad)


@wp.kernel
def k(x: wp.array(dtype=float), s: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.atomic_add(s, 0, x[i]) * x[i]


def wrong():
    x, s, y = zeros(), zeros(1), zeros()
    tape = wp.Tape()
    with tape:
        wp.launch(k, dim=4, inputs=[x, s, y], device="cpu")
    tape.backward(grads={y: wp.ones_like(y)})
