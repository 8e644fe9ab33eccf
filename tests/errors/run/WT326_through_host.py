# SPDX-License-Identifier: Apache-2.0
# WT326_through_host.py: values that pass through the host inside a tape.
import warp_torch as wp


def zeros(n=4, grad=True):
    return wp.zeros(n, dtype=float, device="cpu", requires_grad=grad)


@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


def wrong():
    x, y = zeros(), zeros()
    with wp.Tape():
        wp.launch(k, dim=4, inputs=[x, y], device="cpu")
        x.assign(y.numpy() + 1.0)
