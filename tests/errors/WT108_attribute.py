# SPDX-License-Identifier: Apache-2.0
# WT108_attribute.py: attributes that a value lacks.
from tests.support.language import wp


@wp.struct
class Body:
    mass: float


@wp.kernel
def a(x: wp.array(dtype=float), b: Body):
    x[0] = b.mas  # ERROR WT108: did you mean `mass`?


@wp.kernel
def b(x: wp.array(dtype=wp.vec2)):
    x[0].z = 1.0  # ERROR WT108: vec2f has no attribute `z`
