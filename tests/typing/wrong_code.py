# SPDX-License-Identifier: Apache-2.0
# wrong_code.py: lines marked WRONG are what type checkers have to find; it is never run.
import warp_torch as wp

wp.launches(1)  # WRONG
wp.zeros(3, dtype=float).shape = 3  # WRONG
wp.sin("a")  # WRONG
wp.config.mode = 3  # WRONG, which pyright does not look at
x: wp.vec3 = wp.normalize(wp.vec2(1.0, 2.0))  # WRONG


@wp.func
def double(a: float) -> float:
    return 2.0 * a


double("a")  # WRONG
y: int = double(1.0)  # WRONG
