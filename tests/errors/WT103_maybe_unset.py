# SPDX-License-Identifier: Apache-2.0
# WT103_maybe_unset.py: variables that may have no value.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float), n: int):
    if n > 0:
        s = x[0]
    x[1] = s  # ERROR WT103: variable `s` may be unset


@wp.kernel
def b(x: wp.array(dtype=float), n: int):
    for i in range(n):
        s = x[i]
    x[1] = s  # ERROR WT103: before the `if` or the loop


@wp.kernel
def c(x: wp.array(dtype=float), n: int):
    while n > 0:
        if x[0] > 1.0:
            break
        s = x[0]
        n -= 1
    x[1] = s  # ERROR WT103: `s`
