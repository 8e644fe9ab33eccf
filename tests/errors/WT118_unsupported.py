# SPDX-License-Identifier: Apache-2.0
# WT118_unsupported.py: parts of the language that are not there.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float)):
    y = x[1:3]  # ERROR WT118: a slice of an array with bounds
