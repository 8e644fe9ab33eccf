# SPDX-License-Identifier: Apache-2.0
# WT309_primal_overwritten.py: a custom gradient reads an array that the kernel overwrites.
import warp_torch as wp


def zeros(n=4, grad=True):
    return wp.zeros(n, dtype=float, device="cpu", requires_grad=grad)


@wp.func
def element(x: wp.array(dtype=float), i: int):
    return x[i] * x[i]


@wp.func_grad(element)
def element_gradient(x: wp.array(dtype=float), i: int, adj_ret: float):
    wp.atomic_add(wp.adjoint[x], i, 2.0 * x[i] * adj_ret)


@wp.kernel
def k(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = element(x, i)
    x[i] = 0.0


def wrong():
    x, y = zeros(), zeros()
    tape = wp.Tape()
    with tape:
        wp.launch(k, dim=4, inputs=[x, y], device="cpu")
    tape.backward(grads={y: wp.ones_like(y)})
