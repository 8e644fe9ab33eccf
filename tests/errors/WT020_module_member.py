# SPDX-License-Identifier: Apache-2.0
# WT020_module_member.py: a member that a module lacks.
import math

from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float)):
    x[0] = math.sinn(x[0])  # ERROR WT020: did you mean `math.sin`?
