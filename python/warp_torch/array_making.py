# SPDX-License-Identifier: Apache-2.0
# array_making.py: functions that make and copy arrays.
"""``zeros``, ``full``, ``clone``, ``copy``, ``from_numpy`` and their kin."""

from __future__ import annotations

import math

import numpy as np
import torch

from warp_torch import _C, graphs
from warp_torch import types as _types
from warp_torch.array import array
from warp_torch.device import stream_handle
from warp_torch.errors import ArgumentValueError
from warp_torch.host_data import element_dtype, element_value, value_dtype
from warp_torch.interop import from_torch

__all__ = [
    "clone",
    "copy",
    "empty",
    "empty_like",
    "from_numpy",
    "from_ptr",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def empty(
    shape=None,
    dtype=float,
    device=None,
    requires_grad=False,
    pinned=False,
    retain_grad=False,
    **kwargs,
):
    """An array whose memory is not initialised."""
    return array(
        shape=_one_shape(shape, kwargs),
        dtype=dtype,
        device=device,
        pinned=pinned,
        requires_grad=requires_grad,
        retain_grad=retain_grad,
    )


def zeros(
    shape=None,
    dtype=float,
    device=None,
    requires_grad=False,
    pinned=False,
    retain_grad=False,
    **kwargs,
):
    """An array of zeros."""
    return full(shape, None, dtype, device, requires_grad, pinned, retain_grad, **kwargs)


def full(
    shape=None,
    value=0,
    dtype=None,
    device=None,
    requires_grad=False,
    pinned=False,
    retain_grad=False,
    **kwargs,
):
    """An array filled with ``value``; the dtype is the value's if not given: float32 of a float,
    int32 of an int, a vector or matrix of a sequence."""
    if dtype is None:
        dtype = value_dtype(value)
    out = empty(shape, dtype, device, False, pinned, retain_grad, **kwargs)
    _off_tape_fill(out, element_value(value, out.dtype))
    if requires_grad:
        out.requires_grad = True
    return out


def _off_tape_fill(out, value):
    """First contents of a new array: no event for a tape."""
    handle = stream_handle(None, out.device_name)
    if not graphs.deferred(_C.fill_new, out, value, handle):
        _C.fill_new(out, value, handle)


def ones(
    shape=None,
    dtype=float,
    device=None,
    requires_grad=False,
    pinned=False,
    retain_grad=False,
    **kwargs,
):
    """An array of ones (in every component)."""
    t = element_dtype(dtype)
    return full(shape, t(1), t, device, requires_grad, pinned, retain_grad, **kwargs)


def _one_shape(shape, kwargs):
    n = kwargs.pop("n", None)
    if kwargs:
        raise TypeError(f"unexpected argument {next(iter(kwargs))!r}")
    shape = n if shape is None else shape
    return 0 if shape is None else shape


def _like(src, device, requires_grad, pinned, retain_grad):
    """What a new array has in common with ``src``, an array or a tensor."""
    if isinstance(src, torch.Tensor):
        src = from_torch(src.detach(), requires_grad=src.requires_grad)
    return {
        "shape": src.shape,
        "dtype": src.dtype,
        "device": src.device if device is None else device,
        "requires_grad": src.requires_grad if requires_grad is None else requires_grad,
        "pinned": getattr(src, "pinned", False) if pinned is None and device is None else pinned,
        "retain_grad": retain_grad,
    }


def empty_like(src, device=None, requires_grad=None, pinned=None, retain_grad=False):
    """An uninitialised array with the shape and dtype of ``src``."""
    return empty(**_like(src, device, requires_grad, pinned, retain_grad))


def zeros_like(src, device=None, requires_grad=None, pinned=None, retain_grad=False):
    """Zeros with the shape and dtype of ``src``."""
    return zeros(**_like(src, device, requires_grad, pinned, retain_grad))


def ones_like(src, device=None, requires_grad=None, pinned=None, retain_grad=False):
    """Ones with the shape and dtype of ``src``."""
    return ones(**_like(src, device, requires_grad, pinned, retain_grad))


def full_like(src, value, device=None, requires_grad=None, pinned=None, retain_grad=False):
    """``value`` in the shape and dtype of ``src``."""
    return full(value=value, **_like(src, device, requires_grad, pinned, retain_grad))


def clone(src, device=None, requires_grad=None, pinned=None, retain_grad=False):
    """A copy; on a tape the copy is differentiable, but not with ``requires_grad=False``: that is
    how to cut the gradient on purpose."""
    out = empty_like(src, device, requires_grad, pinned, retain_grad)
    if requires_grad is False and isinstance(src, _C.Array) and out.device == src.device:
        handle = stream_handle(None, out.device_name)
        if not graphs.deferred(_C.copy_unrecorded, out, src, handle):
            _C.copy_unrecorded(out, src, handle)
    else:
        copy(out, src)
    return out


def copy(dest, src, dest_offset=0, src_offset=0, count=0, stream=None):
    """Copies elements from ``src`` to ``dest`` (arrays or indexed arrays, or for ``src`` also host
    data).

    With ``count`` (or offsets), and where ``dest`` is larger, both are seen as flat and that many
    elements are copied.
    """
    if not isinstance(dest, _C.Array):
        dest.assign(src)
        return
    if not isinstance(src, _C.Array):
        if not hasattr(src, "array_ndim"):
            dest.assign(src)
            return
        src = src.contiguous()
    flat = dest.shape != src.shape and dest.is_contiguous and src.is_contiguous
    if count or dest_offset or src_offset:
        count = count or min(src.size - src_offset, dest.size - dest_offset)
        if min(src_offset, dest_offset, count) < 0 or (
            src_offset + count > src.size or dest_offset + count > dest.size
        ):
            raise ArgumentValueError(
                f"copy(): {count} elements from {src_offset} of {src.size} to {dest_offset} of "
                f"{dest.size} elements",
                code="WT617",
            )
        dest = dest.flatten()[dest_offset : dest_offset + count]
        src = src.flatten()[src_offset : src_offset + count]
    elif flat and src.size <= dest.size and src.ndim and dest.ndim:
        dest, src = dest.flatten()[: src.size], src.flatten()
    handle = stream_handle(
        stream, dest.device_name if dest.device_name != "cpu" else src.device_name
    )
    if not graphs.deferred(_C.copy, dest, src, handle):
        _C.copy(dest, src, handle)


def from_numpy(arr, dtype=None, shape=None, device=None, requires_grad=False, retain_grad=False):
    """An array with a copy of NumPy data.

    Args:
        arr: the data.
        dtype: element type. If not given, two dimensions are an array of vectors, three one of
            matrices (those beyond ``shape`` if that is given), others one of scalars.
    """
    if dtype is None:
        arr = np.asarray(arr)
        whole = 1 if shape is None else 1 if isinstance(shape, int) else len(shape)
        parts = arr.shape[whole:]
        dtype = element_dtype(arr.dtype)
        if (
            1 <= len(parts) <= 2
            and 1 <= min(parts)
            and max(parts) <= 64
            and whole in (1, arr.ndim - len(parts))
        ):
            dtype = (
                _types.vector(parts[0], dtype) if len(parts) == 1 else _types.matrix(parts, dtype)
            )
    return array(
        arr,
        dtype=dtype,
        shape=shape,
        device=device,
        requires_grad=requires_grad,
        retain_grad=retain_grad,
    )


def from_ptr(ptr, length, dtype=None, shape=None, device=None):
    """An array on ``length`` elements of existing memory."""
    if shape is None:
        shape = length
    elif math.prod((shape,) if isinstance(shape, int) else shape) != length:
        raise ArgumentValueError(
            f"from_ptr(): {length} elements in a shape of {shape}", code="WT613"
        )
    return array(ptr=ptr, shape=shape, dtype=float if dtype is None else dtype, device=device)
