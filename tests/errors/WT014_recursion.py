# SPDX-License-Identifier: Apache-2.0
# WT014_recursion.py: a function that calls itself.
from tests.support.language import wp


@wp.func
def fact(n: int) -> int:
    if n < 2:
        return 1
    return n * fact(n - 1)  # ERROR WT014: calls itself


@wp.kernel
def k(x: wp.array(dtype=int)):
    x[0] = fact(x[0])
