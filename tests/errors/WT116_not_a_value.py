# SPDX-License-Identifier: Apache-2.0
# WT116_not_a_value.py: types and functions as values.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float)):
    x[0] = x[1] + wp.vec3  # ERROR WT116: call it to make a value: vec3f(...)
