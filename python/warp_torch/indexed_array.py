# SPDX-License-Identifier: Apache-2.0
# indexed_array.py: arrays seen through arrays of indices. Kernels see a struct of them
# (csrc/codegen/lower/lower_indexed.cpp).
"""``indexedarray``: elements of an array picked by indices of each dimension."""

from __future__ import annotations

import functools

import numpy as np

from warp_torch import _C, structs
from warp_torch import basic_types as bt
from warp_torch import types as _types
from warp_torch.device import device_alias
from warp_torch.errors import ArgumentTypeError, ArgumentValueError
from warp_torch.host_data import as_value, define_struct, element_value

__all__ = ["indexedarray", "indexedarray1d", "indexedarray2d", "indexedarray3d", "indexedarray4d"]


class _Methods:
    """What the values can do; each (dtype, ndim) has a class of its own."""

    @property
    def shape(self):
        return tuple(
            self.data.shape[d] if ix is None else ix.shape[0] for d, ix in enumerate(self.indices)
        )

    @property
    def indices(self):
        """One array of indices, or None, a dimension."""
        return [getattr(self, f"i{d}") for d in range(self.ndim)]

    @property
    def ndim(self):
        return type(self).array_ndim

    @property
    def dtype(self):
        return type(self).array_dtype

    @property
    def size(self):
        return int(np.prod(self.shape))

    @property
    def device(self):
        return self.data.device

    @property
    def requires_grad(self):
        return self.data.requires_grad

    @property
    def is_contiguous(self):
        return False

    @property
    def device_name(self):
        return self.data.device_name

    def __len__(self):
        return self.shape[0]

    def _grid(self):
        picks = [
            np.arange(n) if ix is None else ix.numpy()
            for n, ix in zip(self.data.shape, self.indices, strict=True)
        ]
        return np.ix_(*picks)

    def numpy(self):
        """A copy of the picked elements."""
        return self.data.numpy()[self._grid()].copy()

    def list(self):
        """The picked elements as a list, last dimension fastest."""
        return self.contiguous().list()

    def contiguous(self):
        """A plain array of the picked elements; on a tape the copy is differentiable."""
        from warp_torch.array_making import empty_like

        out = empty_like(self)
        _elementwise("{0}", [self], out)
        return out

    def flatten(self):
        """A plain array of the picked elements, of one dimension."""
        return self.contiguous().flatten()

    def to(self, device):
        """The same array if it is on that device, else a plain array there."""
        return self if self.device == device_alias(device) else self.contiguous().to(device)

    def fill_(self, value):
        """Sets every picked element; a number sets every component."""
        value = element_value(value, self.dtype)
        dtype = self.dtype
        zero = getattr(dtype, "_zero", dtype)
        _elementwise("{0}", [zero() if value is None else as_value(value, dtype)], self)
        return self

    def zero_(self):
        """Sets every picked element to zero."""
        return self.fill_(0)

    def assign(self, src):
        """Sets the picked elements to those of ``src``: an array, an indexed array or host data."""
        from warp_torch.array import array

        if not isinstance(src, _C.Array) and not hasattr(src, "array_ndim"):
            src = array(src, dtype=self.dtype, device=self.device)
            src = src.reshape(self.shape)
        _elementwise("{0}", [src], self)
        return self

    def __str__(self):
        return str(self.numpy())

    def __repr__(self):
        return f"indexedarray(shape={self.shape}, dtype={bt.type_name(self.dtype)})"


def _elementwise(expression, inputs, out):
    from warp_torch.array_math import elementwise

    elementwise("indexedarray", expression, inputs, out, ())


@functools.cache
def _type(dtype, ndim):
    """The struct type of indexed arrays of ``dtype``."""
    name = "indexedarray_" + "".join(c if c.isalnum() else "_" for c in bt.type_text(dtype))
    hints = {"data": bt.ArrayType(dtype, ndim)}
    hints |= {f"i{d}": bt.ArrayType(bt.int32, 1) for d in range(ndim)}
    body = {k: v for k, v in vars(_Methods).items() if k not in ("__dict__", "__weakref__")}
    body |= {"__annotations__": hints, "array_dtype": dtype, "array_ndim": ndim}
    made = structs.struct(type(f"{name}_{ndim}", (), body))
    define_struct(made)
    return made


def _checked_indices(indices, data):
    given = list(indices) if isinstance(indices, (list, tuple)) else [indices]
    if len(given) > data.ndim:
        raise ArgumentValueError(
            f"indexedarray(): got indices of {len(given)} dimensions, the array has {data.ndim}",
            code="WT616",
        )
    given += [None] * (data.ndim - len(given))
    for d, ix in enumerate(given):
        if ix is None:
            continue
        if not isinstance(ix, _C.Array) or ix.ndim != 1 or bt.type_text(ix.dtype) != "i32":
            raise ArgumentTypeError(
                f"indexedarray(): the indices of dimension {d} must be None or a 1-D array of "
                "int32",
                code="WT616",
            )
    return given


class _Kind(type):
    def __instancecheck__(cls, value):
        wanted = cls.ndim
        found = getattr(type(value), "array_ndim", None)
        return found is not None and wanted in (None, found)

    def __getitem__(cls, dtype):
        return _type(_types.canonical(dtype), cls.ndim or 1)


class indexedarray(metaclass=_Kind):  # noqa: N801 - a public name
    """``indexedarray(data, [indices of dimension 0, ...])``: the value. With ``dtype`` and no data,
    the annotation of a parameter.

    Args:
        data: the array behind.
        indices: for each dimension a 1-D int32 array, or None for all.
    """

    ndim = None

    def __new__(cls, data=None, indices=None, dtype=None, ndim=None):
        if data is None:
            if dtype is None:
                raise ArgumentTypeError(
                    "indexedarray(): wanted data, or dtype= for an annotation", code="WT610"
                )
            return _type(_types.canonical(dtype), ndim or cls.ndim or 1)
        if not isinstance(data, _C.Array):
            raise ArgumentTypeError(
                f"indexedarray(): got a {type(data).__name__}, wanted an array", code="WT601"
            )
        if cls.ndim not in (None, data.ndim):
            raise ArgumentValueError(
                f"indexedarray{cls.ndim}d(): the array has {data.ndim} dimensions", code="WT616"
            )
        return _type(data.dtype, data.ndim)(
            data, *_checked_indices([] if indices is None else indices, data)
        )


class indexedarray1d(indexedarray):  # noqa: N801
    """An indexed array of 1 dimension."""

    ndim = 1


class indexedarray2d(indexedarray):  # noqa: N801
    """An indexed array of 2 dimensions."""

    ndim = 2


class indexedarray3d(indexedarray):  # noqa: N801
    """An indexed array of 3 dimensions."""

    ndim = 3


class indexedarray4d(indexedarray):  # noqa: N801
    """An indexed array of 4 dimensions."""

    ndim = 4
