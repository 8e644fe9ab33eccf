# SPDX-License-Identifier: Apache-2.0
# type_queries.py: questions about types and values, under types.*.
"""``types.type_is_vector(t)``, ``types.is_vector(x)``, ``types.types_equal(a, b)``, ..."""

from __future__ import annotations

from warp_torch import _C, values
from warp_torch import basic_types as bt
from warp_torch.errors import ArgumentTypeError

__all__ = [
    "dtype_from_numpy",
    "dtype_to_numpy",
    "type_repr",
    "type_size",
    "type_size_in_bytes",
    "types_equal",
]


def _kind(t):
    """ "float", "int", "bool", "vec", "mat", "quat", "xform", "struct", "array" or ""."""
    try:
        t = bt.canonical(t)
    except (ArgumentTypeError, TypeError):
        return ""
    if isinstance(t, bt.ArrayType):
        return "array"
    if getattr(t, "wt_kind", "") == "struct":
        return "struct"
    return getattr(t, "family", "") or getattr(t, "kind", "")


def _questions(name, kinds):
    """type_is_NAME(t) and is_NAME(value)."""

    def of_type(t):
        return _kind(t) in kinds

    def of_value(x):
        if isinstance(x, _C.Array):
            return "array" in kinds
        return _kind(type(x)) in kinds

    of_type.__name__, of_value.__name__ = f"type_is_{name}", f"is_{name}"
    of_type.__doc__ = f"True if the type is of kind {name}."
    of_value.__doc__ = f"True if the value is of kind {name}."
    for f in (of_type, of_value):
        globals()[f.__name__] = f
        __all__.append(f.__name__)


for _name, _kinds in {
    "float": ("float",),
    "int": ("int",),
    "scalar": ("float", "int", "bool"),
    "vector": ("vec",),
    "matrix": ("mat",),
    "quaternion": ("quat",),
    "transformation": ("xform",),
    "composite": ("vec", "mat", "quat", "xform"),
    "value": ("float", "int", "bool", "vec", "mat", "quat", "xform"),
    "struct": ("struct",),
    "array": ("array",),
}.items():
    _questions(_name, _kinds)


def types_equal(a, b):
    """True if both name the same kernel type; ``float`` is ``float32``."""
    try:
        return bt.type_text(a) == bt.type_text(b)
    except (ArgumentTypeError, TypeError):
        return False


def type_repr(t):
    """The type's name."""
    return bt.type_name(bt.canonical(t))


def type_size(t):
    """Number of components of a value."""
    t = bt.canonical(t)
    count = 1
    for n in getattr(t, "shape", ()):
        count *= n
    return count


def type_size_in_bytes(t):
    """Bytes of one value."""
    return bt.np_dtype(t).itemsize


def dtype_from_numpy(dtype):
    """The scalar type of a NumPy dtype."""
    import numpy as np

    return bt.canonical(np.dtype(dtype))


def dtype_to_numpy(dtype):
    """The NumPy type of a scalar type."""
    t = bt.canonical(dtype)
    if t is bt.bfloat16 or not issubclass(t, bt.scalar) or isinstance(t, values.Composite):
        raise ArgumentTypeError(
            f"dtype_to_numpy(): NumPy has no type for {bt.type_name(t)}", code="WT621"
        )
    return t.np_dtype.type
