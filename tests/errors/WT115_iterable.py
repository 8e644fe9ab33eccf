# SPDX-License-Identifier: Apache-2.0
# WT115_iterable.py: what a for loop cannot run over.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float), n: int):
    for i in n:  # ERROR WT115: a `for` loop cannot run over int32
        x[i] = 1.0
