# SPDX-License-Identifier: Apache-2.0
# WT113_not_constant.py: what must be known when the kernel is declared.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float), n: int):
    t = wp.zeros(shape=n, dtype=float)  # ERROR WT113: the shape of a local array
