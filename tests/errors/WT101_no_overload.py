# SPDX-License-Identifier: Apache-2.0
# WT101_no_overload.py: operators and builtins for other types.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float), n: int):
    x[0] = x[0] + n  # ERROR WT101: `+` does not take (float32, int32)


@wp.kernel
def b(x: wp.array(dtype=float), y: wp.array(dtype=wp.float64)):
    x[0] = wp.min(x[0], y[0])  # ERROR WT101: types do not mix: cast one


@wp.kernel
def c(x: wp.array(dtype=float), v: wp.vec3):
    x[0] = wp.sin(v)  # ERROR WT101: `sin` does not take (vec3f)


@wp.func
def double(v):
    return v + v  # ERROR WT101: called from


@wp.kernel
def d(x: wp.array(dtype=wp.quat), n: bool):
    y = double(n)
