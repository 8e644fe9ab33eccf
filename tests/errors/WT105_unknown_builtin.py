# SPDX-License-Identifier: Apache-2.0
# WT105_unknown_builtin.py: a builtin that does not exist.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float)):
    x[0] = wp.sqr(x[0])  # ERROR WT105: did you mean `sqrt`?
