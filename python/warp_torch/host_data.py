# SPDX-License-Identifier: Apache-2.0
# host_data.py: what Python and NumPy values are as elements of arrays.

from __future__ import annotations

import math

import numpy as np

from warp_torch import _C
from warp_torch import types as _types
from warp_torch.basic_types import scalar as _scalar
from warp_torch.errors import ArgumentTypeError, ArgumentValueError


def element_dtype(dtype):
    """The kernel type of one element; teaches the compiler a struct's layout on first sight."""
    t = _types.canonical(dtype)
    define_struct(t)
    return t


def define_struct(t):
    """Makes a struct type (and those inside it) known to the compiler, once."""
    if getattr(t, "wt_kind", None) != "struct" or "_wt_defined" in vars(t):
        return
    for field in t.fields.values():
        define_struct(getattr(field, "dtype", field))
    _C.define_struct(t.struct_name, [(n, _types.type_text(f)) for n, f in t.fields.items()])
    t._wt_defined = True


def component_type(dtype):
    """The scalar type of a dtype's components."""
    return dtype.dtype if hasattr(dtype, "family") else dtype


def component_shape(dtype):
    return tuple(getattr(dtype, "shape", ())) if hasattr(dtype, "family") else ()


def numpy_scalar(dtype):
    """NumPy dtype of one component, or of a whole struct."""
    if hasattr(dtype, "family"):
        return dtype.dtype.np_dtype
    return dtype.np_dtype


def row_major(shape, size):
    """Strides in bytes of contiguous elements of ``size`` bytes."""
    return tuple(size * math.prod(shape[i + 1 :]) for i in range(len(shape)))


def element_value(value, dtype):
    """``value`` as one element: a number is that of every component, 0 of a struct is None, for
    zeros."""
    if isinstance(value, (int, float, _scalar, np.number)):
        if hasattr(dtype, "family"):
            return dtype(value)
        if getattr(dtype, "wt_kind", None) == "struct" and value == 0:
            return None
    if isinstance(value, _types.Composite) and value.is_like(dtype):
        return dtype(value)
    return value


def as_value(value, dtype):
    """``value`` as a value of the kernel type ``dtype``."""
    return value if isinstance(value, dtype) else dtype(value)


def value_dtype(value):
    """The element type of one value: a sequence of numbers is a vector, of sequences a matrix."""
    if not isinstance(value, (list, tuple, np.ndarray)):
        return element_dtype(type(value))
    data = np.asarray(value)
    scalar = element_dtype(data.dtype)
    if data.ndim == 0:
        return scalar
    if data.ndim > 2:
        raise ArgumentValueError(
            f"a value of {data.ndim} dimensions: wanted at most 2", code="WT612"
        )
    return _types.vector(len(data), scalar) if data.ndim == 1 else _types.matrix(data.shape, scalar)


def infer_dtype(data):
    """The element type of host data that names none."""
    if isinstance(data, np.ndarray):
        return element_dtype(data.dtype)
    first = data
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if hasattr(type(first), "wt_kind"):
        return element_dtype(type(first))
    found = np.asarray(data).dtype
    if found.kind in "OUS":
        raise ArgumentTypeError(
            f"array(): elements of type {type(first).__name__} have no kernel type; wanted "
            "numbers, vectors, matrices or structs",
            code="WT612",
        )
    return element_dtype(found)


def _host_structs(data, dtype):
    if isinstance(data, np.ndarray):
        if data.dtype != dtype.np_dtype:
            raise ArgumentTypeError(
                f"array(): got a NumPy array of {data.dtype}, wanted {dtype.__name__}.np_dtype",
                code="WT612",
            )
        return np.ascontiguousarray(data)
    items = [data] if getattr(data, "text", None) == dtype.text else list(data)
    for x in items:
        if getattr(x, "text", None) != dtype.text:
            raise ArgumentTypeError(
                f"array(): got {type(x).__name__}, wanted {dtype.__name__}", code="WT612"
            )
    return np.frombuffer(b"".join(_types.struct_bytes(x) for x in items), dtype=dtype.np_dtype)


def host_elements(data, dtype):
    """Host data as a contiguous NumPy array whose trailing dimensions are the components."""
    if getattr(dtype, "wt_kind", None) == "struct":
        return _host_structs(data, dtype)
    scalar = component_type(dtype)
    if isinstance(data, (list, tuple)):
        data = [_plain(x) for x in data]
    try:
        if scalar is _types.bfloat16:
            return _bfloat16_bits(np.ascontiguousarray(data, dtype=np.float32))
        return np.ascontiguousarray(data, dtype=numpy_scalar(dtype))
    except (TypeError, ValueError) as e:
        raise ArgumentTypeError(
            f"array(): cannot read the data as {_types.type_name(dtype)}: {e}", code="WT612"
        ) from None
    except OverflowError as e:
        raise ArgumentValueError(f"array(): {e}", code="WT612") from None


def _bfloat16_bits(f):
    bits = f.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(f), 0x7FC0, rounded).astype(np.uint16)


def _plain(x):
    if isinstance(x, (list, tuple)):
        return [_plain(y) for y in x]
    if isinstance(x, _types.Composite):
        return x.numpy()
    return x.value if isinstance(x, _scalar) else x
