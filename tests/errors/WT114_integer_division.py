# SPDX-License-Identifier: Apache-2.0
# WT114_integer_division.py: `/` of two integer literals.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float)):
    x[0] = x[1] * (1 / 2)  # ERROR WT114: write `1 // 2` for the whole quotient or `1.0 / 2`
