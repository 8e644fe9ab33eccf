# SPDX-License-Identifier: Apache-2.0
# WT107_wanted_type.py: values of another type than wanted.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float), n: int):
    x[0] = n  # ERROR WT107: wants float32, got int32


@wp.kernel
def b(x: wp.array(dtype=int)):
    x[0] = 0.5  # ERROR WT107: wants int32, got 0.5


@wp.kernel
def c(x: wp.array(dtype=float), y: wp.array(dtype=wp.float64)):
    for i in range(x[0]):  # ERROR WT107: range() wants an integer
        pass
