# SPDX-License-Identifier: Apache-2.0
# wrong_cube.py: a function with a gradient that is wrong, for what has to notice it.
import warp_torch as wp


@wp.func
def cube(x: float):
    return x * x * x


@wp.func_grad(cube)
def cube_gradient(x: float, adj_ret: float):
    wp.adjoint[x] += 2.0 * x * x * adj_ret  # wrong: 3 is right
