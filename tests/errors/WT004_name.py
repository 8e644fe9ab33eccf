# SPDX-License-Identifier: Apache-2.0
# WT004_name.py: a name that is not defined, and the nearest one.
from tests.support.language import wp

DAMPING = 0.5


@wp.kernel
def k(x: wp.array(dtype=float)):
    x[0] = x[0] * DAMPNG  # ERROR WT004: did you mean `DAMPING`?


@wp.kernel
def j(x: wp.array(dtype=float)):
    speed = 1.0
    x[0] = sped  # ERROR WT004: did you mean `speed`?
