# SPDX-License-Identifier: Apache-2.0
# WT324_value_gone.py: an input that is changed between the launch and backward.
import warp_torch as wp


def zeros(n=4, grad=True):
    return wp.zeros(n, dtype=float, device="cpu", requires_grad=grad)


@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def wrong():
    x, y = zeros(), zeros()
    tape = wp.Tape()
    with tape:
        wp.launch(k, dim=4, inputs=[x, y], device="cpu")
    x.fill_(3.0)
    tape.backward(grads={y: wp.ones_like(y)})
