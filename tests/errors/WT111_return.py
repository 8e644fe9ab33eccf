# SPDX-License-Identifier: Apache-2.0
# WT111_return.py: returns that do not fit.
from tests.support.language import wp


@wp.func
def sign(a: float):  # ERROR WT111: may end without returning a value
    if a > 0.0:
        return 1.0


@wp.kernel
def a(x: wp.array(dtype=float)):
    x[0] = sign(x[0])


@wp.kernel
def b(x: wp.array(dtype=float)):
    return x[0]  # ERROR WT111: a kernel returns no value
