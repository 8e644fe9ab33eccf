# SPDX-License-Identifier: Apache-2.0
# WT117_unpack.py: the wrong number of targets.
from tests.support.language import wp


@wp.kernel
def a(x: wp.array(dtype=float), v: wp.vec3):
    p, q = v  # ERROR WT117: 3 values cannot be unpacked into 2 targets
