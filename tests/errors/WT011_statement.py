# SPDX-License-Identifier: Apache-2.0
# WT011_statement.py: statements that kernels do not have.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float)):
    import math  # noqa: F401 # ERROR WT011: import is not possible


@wp.kernel
def b(x: wp.array(dtype=float)):
    try:  # ERROR WT011: try is not possible
        x[0] = 1.0
    except ValueError:
        pass


@wp.kernel
def c(x: wp.array(dtype=float)):
    with x:  # ERROR WT011: with
        pass


@wp.kernel
def d(x: wp.array(dtype=float)):
    global y  # ERROR WT011: global
    y = 1.0


@wp.kernel
def e(x: wp.array(dtype=float)):
    y = 1.0
    del y  # ERROR WT011: del


@wp.kernel
def f(x: wp.array(dtype=float)):
    raise ValueError  # ERROR WT011: use `assert condition, message`
