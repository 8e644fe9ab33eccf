# SPDX-License-Identifier: Apache-2.0
# WT305_unbounded_log.py: values to be saved in a loop of unknown length.
import warp_torch as wp


def zeros(n=4, grad=True):
    return wp.zeros(n, dtype=float, device="cpu", requires_grad=grad)


@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    while x[i] < 10.0:
        x[i] = x[i] * x[i] + 1.0
    y[i] = x[i]


def wrong():
    x, y = zeros(), zeros()
    tape = wp.Tape()
    with tape:
        wp.launch(k, dim=4, inputs=[x, y], device="cpu")
    tape.backward(grads={y: wp.ones_like(y)})
