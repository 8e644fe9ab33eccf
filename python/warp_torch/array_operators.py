# SPDX-License-Identifier: Apache-2.0
# array_operators.py: arithmetic operators of arrays, element by element; array.py inherits them.
"""``a + b``, ``2.0 * a``, ``-a``, ``a += b``: new arrays, or the array itself for ``+=``."""

from __future__ import annotations

import numbers

import numpy as np

from warp_torch import _C
from warp_torch import types as _types

__all__ = ["ArrayOperators"]


def _takes(value):
    number = isinstance(value, (numbers.Number, np.number)) and not isinstance(value, complex)
    return number or isinstance(value, _C.Array) or _types.is_type(type(value))


def _operate(expression, *inputs, out=None):
    from warp_torch.array_math import operate

    return operate(expression, *inputs, out=out)


def _binary(sign):
    def forward(self, other):
        return _operate(f"{{0}} {sign} {{1}}", self, other) if _takes(other) else NotImplemented

    def reflected(self, other):
        return _operate(f"{{0}} {sign} {{1}}", other, self) if _takes(other) else NotImplemented

    def in_place(self, other):
        if not _takes(other):
            return NotImplemented
        return _operate(f"{{0}} {sign} {{1}}", self, other, out=self)

    return forward, reflected, in_place


class ArrayOperators:
    """Arrays of one shape, or an array and a number. Tapes record them."""

    __add__, __radd__, __iadd__ = _binary("+")
    __sub__, __rsub__, __isub__ = _binary("-")
    __mul__, __rmul__, __imul__ = _binary("*")
    __truediv__, __rtruediv__, __itruediv__ = _binary("/")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("//")
    __mod__, __rmod__, __imod__ = _binary("%")
    __pow__, __rpow__, __ipow__ = _binary("**")

    def __neg__(self):
        return _operate("-{0}", self)

    def __pos__(self):
        return _operate("+{0}", self)
