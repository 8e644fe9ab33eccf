# SPDX-License-Identifier: Apache-2.0
# WT002_annotation.py: a parameter without a type.
from tests.support.language import wp


@wp.kernel
def k(x: wp.array(dtype=float), n):  # ERROR WT002: parameter `n` has no type
    x[0] = 1.0
