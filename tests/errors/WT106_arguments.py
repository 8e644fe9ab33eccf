# SPDX-License-Identifier: Apache-2.0
# WT106_arguments.py: calls with the wrong arguments.
from tests.support.language import wp


@wp.func
def f(a: float, b: float):
    return a + b


@wp.kernel
def a(x: wp.array(dtype=float)):
    x[0] = f(x[0])  # ERROR WT106: lacks argument `b`


@wp.kernel
def b(x: wp.array(dtype=float), n: int):
    x[0] = f(x[0], n)  # ERROR WT106: argument `b` wants float32, got int32


@wp.kernel
def c(x: wp.array(dtype=float)):
    x[0] = f(x[0], c=1.0)  # ERROR WT106: has no parameter `c`


@wp.kernel
def d(x: wp.array(dtype=wp.vec3)):
    x[0] = wp.vec3(1.0, 2.0)  # ERROR WT106: vec3f(): takes 3 numbers, got 2
