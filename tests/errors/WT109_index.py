# SPDX-License-Identifier: Apache-2.0
# WT109_index.py: indices that cannot be right.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float), v: wp.vec3):
    x[0] = v[3]  # ERROR WT109: index 3 is out of range


@wp.kernel
def b(x: wp.array(dtype=float)):
    x[x[0]] = 1.0  # ERROR WT109: an index must be an integer


@wp.kernel
def c(x: wp.array(dtype=float)):
    x[0, 1] = 1.0  # ERROR WT109: float32 cannot be indexed
