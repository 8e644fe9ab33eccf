# SPDX-License-Identifier: Apache-2.0
# WT107_wanted_type.py: values of another type than wanted.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float), n: int):
    x[0] = n  # ERROR WT107: wants float32, got int32


@wp.kernel
def b(x: wp.array(dtype=int)):
    x[0] = 0.5  # ERROR WT107: wants int32, got 0.5


@wp.kernel
def c(x: wp.array(dtype=float), y: wp.array(dtype=wp.float64)):
    for i in range(x[0]):  # ERROR WT107: range() wants an integer
        pass


@wp.kernel
def d(x: wp.array(dtype=float), y: wp.array(dtype=wp.int16)):
    wp.atomic_and(x, 0, 1.0)  # ERROR WT107: `atomic_and()` wants an array of integers


@wp.kernel
def e(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.int16)):
    wp.atomic_cas(y, 0, 1, 2)  # ERROR WT107: wants an array of numbers of 32 or 64 bits


@wp.kernel
def f(x: wp.array(dtype=wp.vec3)):
    wp.atomic_cas(x, 0, wp.vec3(), wp.vec3())  # ERROR WT107: wants an array of numbers of 32


@wp.kernel
def g(x: wp.array(dtype=float)):
    print(x)  # ERROR WT107: `print()` wants text, numbers, vectors or matrices
