# SPDX-License-Identifier: Apache-2.0
# WT110_target.py: what cannot be assigned to.
from tests.support.language import wp


@wp.kernel
def b(x: wp.array(dtype=float)):
    t = (1.0, 2.0)
    t[0] = x[0]  # ERROR WT110: a part of a tuple of 2
