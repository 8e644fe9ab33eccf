# SPDX-License-Identifier: Apache-2.0
# WT112_condition.py: conditions that are neither true nor false.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float), v: wp.vec3):
    if v:  # ERROR WT112: vec3f is neither true nor false
        x[0] = 1.0
