# SPDX-License-Identifier: Apache-2.0
# WT642_custom_gradient.py: a gradient with a parameter of another type.
import warp_torch as wp


@wp.func
def square(x: float):
    return x * x


def wrong():
    @wp.func_grad(square)
    def adj_square(x: wp.vec3, adj: float):
        wp.adjoint[x] += wp.vec3(adj)
