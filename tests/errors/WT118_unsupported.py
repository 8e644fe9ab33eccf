# SPDX-License-Identifier: Apache-2.0
# WT118_unsupported.py: parts of the language that are not there.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float)):
    x[1:3] = x[0:2]  # ERROR WT118: copying a part of an array to another part of it
