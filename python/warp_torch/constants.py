# SPDX-License-Identifier: Apache-2.0
# constants.py: mathematical constants, and constant().
"""Constants that kernels and the host share."""

from __future__ import annotations

import math

from warp_torch import basic_types as bt
from warp_torch import values
from warp_torch.errors import ArgumentTypeError

__all__ = ["constant"]

_VALUES = {
    "E": math.e,
    "LOG2E": math.log2(math.e),
    "LOG10E": math.log10(math.e),
    "LN2": math.log(2.0),
    "LN10": math.log(10.0),
    "PHI": (1.0 + math.sqrt(5.0)) / 2.0,
    "PI": math.pi,
    "HALF_PI": math.pi / 2.0,
    "TAU": math.tau,
    "INF": math.inf,
    "NAN": math.nan,
}
for _name, _value in _VALUES.items():
    globals()[_name] = globals()[_name.lower()] = _value
    __all__ += [_name, _name.lower()]


def constant(x):
    """``x`` itself, after a check that kernels can capture it: a number, or a value of a kernel
    type."""
    fits = isinstance(x, (bool, int, float, tuple, bt.scalar, values.Composite))
    if not fits and getattr(type(x), "wt_kind", None) != "struct":
        raise ArgumentTypeError(
            f"constant(): got a {type(x).__name__}, wanted a number, a vector, matrix, quaternion "
            "or transform, a struct or a tuple of such",
            code="WT636",
        )
    return x
