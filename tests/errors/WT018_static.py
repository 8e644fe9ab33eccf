# SPDX-License-Identifier: Apache-2.0
# WT018_static.py: wt.static() of what is not known.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float), n: int):
    x[0] = float(wp.static(n + 1))  # ERROR WT018: static() uses `n`


@wp.kernel
def b(x: wp.array(dtype=float)):
    x[0] = wp.static(1 / 0)  # ERROR WT018: ZeroDivisionError
