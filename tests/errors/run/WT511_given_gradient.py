# SPDX-License-Identifier: Apache-2.0
# WT511_given_gradient.py: an adjoint launch with a gradient of another shape.
import warp_torch as wp


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def zeros(n=4, dtype=float, grad=False):
    return wp.zeros(n, dtype=dtype, device="cpu", requires_grad=grad)


def wrong():
    x, y = zeros(grad=True), zeros(grad=True)
    gradients = {"adj_inputs": [zeros(2), None], "adj_outputs": [y.grad]}
    wp.launch(scale, 4, inputs=[x, 2.0], outputs=[y], adjoint=True, device="cpu", **gradients)
