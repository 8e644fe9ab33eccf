# SPDX-License-Identifier: Apache-2.0
# WT118_unsupported.py: parts of the language that are not there.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float)):
    x[1:3] = 0.0  # ERROR WT118: assignment to a slice of an array
