# SPDX-License-Identifier: Apache-2.0
# WT650_cotangent.py: a cotangent of another length.
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def zeros():
    return wp.zeros(4, dtype=float, device="cpu", requires_grad=True)


def wrong():
    x, y = zeros(), zeros()
    with wp.Tape() as tape:
        wp.launch(scale, dim=4, inputs=[x, 2.0, y])
    tape.backward(grads={y: wp.ones(3, dtype=float, device="cpu")})
