# SPDX-License-Identifier: Apache-2.0
# WT013_string.py: strings outside of print and assert.
from tests.support.language import wp

LABEL = "a"


@wp.kernel
def a(x: wp.array(dtype=float)):
    s = "text"  # ERROR WT013: strings may stand only in print()


@wp.kernel
def b(x: wp.array(dtype=float)):
    s = LABEL  # ERROR WT013: `LABEL` is a string


@wp.kernel
def c(x: wp.array(dtype=float)):
    print(f"{x[0]:3d}")  # ERROR WT013: print the plain value
