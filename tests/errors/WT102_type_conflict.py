# SPDX-License-Identifier: Apache-2.0
# WT102_type_conflict.py: a variable of two types.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float), y: wp.array(dtype=wp.float64)):
    s = x[0]
    s = y[0]  # ERROR WT102: variable `s` is float64 here and float32 elsewhere


@wp.kernel
def b(x: wp.array(dtype=float), n: int):
    s = 0.5
    for i in range(n):
        s = n  # ERROR WT102: variable `s` is int32 here and float32 elsewhere
    x[0] = s


@wp.kernel
def c(x: wp.array(dtype=float), n: int, m: wp.int64):
    for i in range(n, m):  # ERROR WT102: cast one bound
        x[0] = 1.0
