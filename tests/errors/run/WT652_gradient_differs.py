# SPDX-License-Identifier: Apache-2.0
# WT652_gradient_differs.py: a custom gradient that is wrong.
import warp_torch as wp


@wp.func
def square(x: float):
    return x * x


@wp.func_grad(square)
def adj_square(x: float, adj: float):
    wp.adjoint[x] += x * adj


@wp.kernel
def squares(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = square(x[i])


def wrong():
    x = wp.array([1.0, 2.0], dtype=float, device="cpu", requires_grad=True)
    y = wp.zeros(2, dtype=float, device="cpu", requires_grad=True)
    wp.autograd.gradcheck(squares, dim=2, inputs=[x], outputs=[y], show_summary=False)
