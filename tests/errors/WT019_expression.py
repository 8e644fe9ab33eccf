# SPDX-License-Identifier: Apache-2.0
# WT019_expression.py: expressions that kernels do not have.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float)):
    if (y := 1.0) > 0.5:  # ERROR WT019: assign in a statement of its own
        x[0] = y


@wp.kernel
def b(x: wp.array(dtype=float)):
    y = 1j  # ERROR WT019: a complex number


@wp.kernel
def c(x: wp.array(dtype=float)):
    a, *b = (1, 2, 3)  # ERROR WT019: `*` in a target
