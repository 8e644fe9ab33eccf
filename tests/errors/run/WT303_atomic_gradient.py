# SPDX-License-Identifier: Apache-2.0
# WT303_atomic_gradient.py: a bitwise exchange of shared floats.
import warp_torch as wp


def zeros(n=4, grad=True):
    return wp.zeros(n, dtype=float, device="cpu", requires_grad=grad)


@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    wp.atomic_exch(y, 0, x[wp.tid()])


def wrong():
    x, y = zeros(), zeros(1)
    tape = wp.Tape()
    with tape:
        wp.launch(k, dim=4, inputs=[x, y], device="cpu")
    tape.backward(grads={y: wp.ones_like(y)})
