# SPDX-License-Identifier: Apache-2.0
# WT104_literal_range.py: integer literals that do not fit.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=wp.int8)):
    x[0] = 200  # ERROR WT104: int8 holds -128 to 127


@wp.kernel
def b(x: wp.array(dtype=wp.uint32)):
    x[0] = x[1] + -1  # ERROR WT104: the literal -1 does not fit uint32
