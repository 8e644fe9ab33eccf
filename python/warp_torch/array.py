# SPDX-License-Identifier: Apache-2.0
# array.py: the array class; array_making.py has the functions that make and copy arrays.
"""Arrays of 1 to 4 dimensions of scalars, vectors, matrices or structs, on the CPU or a GPU."""

from __future__ import annotations

import math
import weakref

import numpy as np
import torch

from warp_torch import _C, graphs
from warp_torch import types as _types
from warp_torch.array_operators import ArrayOperators
from warp_torch.basic_types import bfloat16 as _bfloat16
from warp_torch.basic_types import bfloat16_values
from warp_torch.basic_types import scalar as _scalar
from warp_torch.device import (
    device_alias,
    get_cuda_device_count,
    get_device,
    get_stream,
    stream_handle,
)
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError
from warp_torch.host_data import (
    component_shape,
    element_dtype,
    element_value,
    host_elements,
    infer_dtype,
    numpy_scalar,
    row_major,
)

__all__ = ["array"]

_NOTHING = object()


class array(_C.Array, ArrayOperators):  # noqa: N801
    """A view of device memory: ``shape`` of elements of type ``dtype``.

    Args:
        data: a NumPy array, nested lists, or another array; for a ``dtype`` with components the
            last dimensions are these.
        dtype: element type; taken from the data if not given.
        shape: shape when there is no data; memory is then not initialised.
        device: "cpu", "cuda:0", ...; the default device if not given.
        requires_grad: makes a gradient array of zeros, ``.grad``.
        ptr: address of existing memory, with ``shape`` (and ``strides`` in bytes).
        copy: False lets a CPU array share the memory of a NumPy array of the same type, and an
            array that of another.
        pinned: page-locked memory of the CPU, for copies to and from GPUs; without one it is
            plain memory.

    With no data, shape or ptr, ``array(dtype=float, ndim=2)`` is the annotation of a parameter.

    Raises:
        ArgumentTypeError: the data or dtype is none that a kernel has.
        ArgumentValueError: the shape does not fit, or has more than 4 dimensions.
    """

    def __new__(
        cls,
        data=None,
        dtype=_NOTHING,
        shape=None,
        *args,
        length=None,
        ptr=None,
        ndim=None,
        **kwargs,
    ):
        if cls is array and data is None and shape is None and length is None and ptr is None:
            dtype = _types.Any if dtype is _NOTHING else dtype
            return _types.array_annotation(dtype, 1 if ndim is None else ndim)
        return _C.Array.__new__(cls)

    def __class_getitem__(cls, item):
        if isinstance(item, tuple):
            return _types.array_annotation(*item)
        return _types.array_annotation(item, 1)

    def __init__(
        self,
        data=None,
        dtype=_NOTHING,
        shape=None,
        *,
        length=None,
        ptr=None,
        strides=None,
        capacity=None,
        device=None,
        pinned=False,
        copy=True,
        owner=None,
        deleter=None,
        ndim=None,
        requires_grad=False,
        grad=None,
        retain_grad=False,
    ):
        if dtype is _NOTHING or dtype is _types.Any or dtype is None:
            if data is None:
                raise ArgumentTypeError(
                    "array(): a dtype is needed when there is no data", code="WT610"
                )
            dtype = data.dtype if isinstance(data, array) else infer_dtype(data)
        dtype = element_dtype(dtype)
        if length is not None and shape is None:
            shape = length
        if isinstance(shape, np.ndarray):
            shape = tuple(shape.tolist())
        if data is not None and ptr is not None:
            raise ArgumentValueError("array(): got data and ptr, wanted one of them", code="WT604")
        source = None
        if isinstance(data, array):
            source, data, shape = _from_array(data, dtype, shape, requires_grad)
        if source is not None and not copy and device in (None, source.device_name):
            made, source = source, None
        elif data is not None:
            made = _from_host(data, dtype, shape, device, copy, ndim)
        elif ptr is not None:
            made = _from_pointer(ptr, dtype, shape, strides, device, deleter, owner)
        else:
            made = _uninitialised(dtype, shape, device_alias(device), pinned)
        _C.Array.__init__(self, made)
        self.dtype = dtype
        if retain_grad:
            self.retain_grad = True
        if grad is not None:
            self.set_grad(grad)
        elif requires_grad:
            self.requires_grad = True
        if source is not None:
            _copy(self, source)

    # Geometry

    @property
    def device(self):
        """The Device that holds the memory."""
        return get_device(self.device_name)

    @property
    def capacity(self):
        """Bytes of the elements."""
        return self.size * self.item_bytes

    @property
    def pinned(self):
        """Whether the memory is page-locked memory of the CPU."""
        t = self.lender
        return self.device_name == "cpu" and hasattr(t, "is_pinned") and t.is_pinned()

    @property
    def is_transposed(self):
        """Whether the array is contiguous with its dimensions reversed."""
        return not self.is_contiguous and self.transpose().is_contiguous

    def mark_init(self):
        """Does nothing: tapes find overwritten values by themselves."""

    mark_read = mark_write = mark_init

    @property
    def grad(self):
        """The gradient, an array of the same shape and dtype; None if not required."""
        g = self.grad_view() if self.requires_grad else None
        return None if g is None else _wrap(g, self.dtype)

    @grad.setter
    def grad(self, value):
        if value is None:
            self.requires_grad = False
        else:
            self.set_grad(value)

    def __len__(self):
        if self.ndim == 0:
            raise ArgumentTypeError("len(): the array has no dimensions", code="WT614")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key):
        keys = key if isinstance(key, tuple) else (key,)
        if sum(k is not Ellipsis for k in keys) > self.ndim:
            raise ArgumentValueError(
                f"array[...]: {len(keys)} indices for {self.ndim} dimensions", code="WT616"
            )
        out, dim, picked = self, 0, {}  # picked: dimension -> array of indices
        for position, k in enumerate(keys):
            if k is Ellipsis:
                dim = out.ndim - (len(keys) - position - 1)
            elif isinstance(k, slice):
                start, stop, step = k.indices(out.shape[dim])
                count = max(0, math.ceil((stop - start) / step))
                out = _C.Array.slice(out, dim, start, count, step)
                dim += 1
            elif isinstance(k, _C.Array):
                picked[dim] = k
                dim += 1
            else:
                out = _C.Array.select(out, dim, _index(k))
        out = _wrap(out, self.dtype)
        if not picked:
            return out
        from warp_torch.indexed_array import indexedarray

        return indexedarray(out, [picked.get(d) for d in range(out.ndim)])

    def __setitem__(self, key, value):
        target = self[key]
        if isinstance(value, _C.Array):
            _copy(target, value)
        elif isinstance(value, (int, float, _scalar, _types.Composite, np.number)):
            target.fill_(value)
        else:
            target.assign(value)

    def reshape(self, shape):
        """The same elements in another shape; one entry may be -1. The array must be contiguous."""
        shape = [shape] if isinstance(shape, int) else list(shape)
        if shape.count(-1) == 1:
            rest = math.prod(n for n in shape if n != -1)
            shape[shape.index(-1)] = self.size // rest if rest else 0
        return _wrap(self.reshaped(tuple(shape)), self.dtype)

    def flatten(self):
        """One dimension."""
        return self if self.ndim == 1 else self.reshape((self.size,))

    def transpose(self, axes=None):
        """Dimensions in another order; reversed if none is given."""
        axes = tuple(reversed(range(self.ndim))) if axes is None else tuple(axes)
        axes = tuple(a + self.ndim if a < 0 else a for a in axes)
        if sorted(axes) != list(range(self.ndim)):
            raise ArgumentValueError(
                f"transpose({axes}): wanted an order of {self.ndim} axes", code="WT616"
            )
        return _wrap(self.permute(list(axes)), self.dtype)

    @property
    def T(self):  # noqa: N802
        """The transposed view."""
        return self.transpose()

    def contiguous(self):
        """Itself if contiguous, else a copy that is."""
        return self if self.is_contiguous else _clone(self)

    # Contents

    def numpy(self):
        """The elements as a NumPy array, after the work that writes them. A CPU array is shared,
        a GPU array copied. Components are the last dimensions; of bfloat16 there are the bits,
        as uint16."""
        if self.device_name == "cpu":
            self.note_host_read()
            return np.asarray(_HostView(self))
        out = np.empty(self.shape + component_shape(self.dtype), numpy_scalar(self.dtype))
        self.read_bytes(out)
        return out

    def _values(self):
        """As numpy(), with the values of bfloat16 in place of their bits."""
        narrow = _bfloat16 in (self.dtype, getattr(self.dtype, "dtype", None))
        return bfloat16_values(self.numpy()) if narrow else self.numpy()

    def list(self):
        """The elements as a flat list of host values."""
        flat = self._values().reshape((self.size,) + component_shape(self.dtype))
        if hasattr(self.dtype, "family"):
            return [self.dtype._wrap(x) for x in flat]
        if getattr(self.dtype, "wt_kind", None) == "struct":
            return [_types.struct_from_bytes(self.dtype, x.tobytes()) for x in flat]
        return flat.tolist()

    @property
    def __array_interface__(self):
        if self.device_name != "cpu":
            raise AttributeError("__array_interface__: the array is on " + self.device_name)
        self.note_host_read()
        return _HostView(self).__array_interface__

    def __array__(self, dtype=None, copy=None):
        out = self.numpy()
        return np.array(out, dtype=dtype) if copy or dtype not in (None, out.dtype) else out

    @property
    def __cuda_array_interface__(self):
        if self.device_name == "cpu":
            raise AttributeError("__cuda_array_interface__: the array is on the CPU")
        self.note_host_read()
        return {
            **_interface(self),
            "version": 3,
            "stream": get_stream(self.device_name).cuda_stream or 1,
        }

    def fill_(self, value):
        """Sets every element; a number sets every component, and 0 every field of a struct."""
        if value is None:
            raise ArgumentTypeError(
                f"fill_(): got None, wanted a value of {self.dtype.__name__}", code="WT612"
            )
        value = element_value(value, self.dtype)
        if value is None:
            return self.zero_()
        if not graphs.deferred(self.fill, value, stream_handle(None, self.device_name)):
            self.fill(value, stream_handle(None, self.device_name))
        return self

    def zero_(self):
        """Sets every element to zero."""
        if not graphs.deferred(self.zero, stream_handle(None, self.device_name)):
            self.zero(stream_handle(None, self.device_name))
        return self

    def assign(self, src):
        """Copies from an array, a NumPy array or nested lists of the same shape."""
        if isinstance(src, _C.Array) or hasattr(src, "array_ndim"):
            _copy(self, src)
            return self
        data = host_elements(src, self.dtype)
        wanted = self.shape + component_shape(self.dtype)
        if data.size != math.prod(wanted):
            raise ArgumentValueError(
                f"assign(): got shape {data.shape}, the array has {wanted}", code="WT613"
            )
        if graphs.open_on_cpu:  # the data may change before the capture runs
            graphs.deferred(self.assign_bytes, data.copy(), None)
        else:
            self.assign_bytes(data, stream_handle(None, self.device_name))
        return self

    def to(self, device, requires_grad=None):
        """Itself if on the device, else a copy there."""
        name = device_alias(device)
        if name == self.device_name:
            return self
        return _clone(self, device=name, requires_grad=requires_grad)

    def view(self, dtype):
        """The same memory seen as another type of the same size."""
        dtype = element_dtype(dtype)
        return _wrap(self.reinterpreted(_types.type_text(dtype)), dtype)

    def __repr__(self):
        return (
            f"array(shape={self.shape}, dtype={_types.type_name(self.dtype)}, "
            f"device={self.device_name!r})"
        )

    def __str__(self):
        return str(self._values())

    def __bool__(self):
        return self.size > 0

    def __copy__(self):
        return _wrap(self, self.dtype)

    def __deepcopy__(self, memo):
        return _clone(self)

    # DLPack

    def __dlpack__(self, **kwargs):
        from warp_torch import interop

        return interop.to_dlpack(self, **kwargs)

    def __dlpack_device__(self):
        from warp_torch import interop

        return interop.dlpack_device(self)


class _HostView:
    """Gives NumPy the memory of a CPU array and keeps the array alive."""

    def __init__(self, owner):
        self.owner = owner
        self.__array_interface__ = {**_interface(owner), "version": 3}


def _interface(a):
    """The fields that NumPy's and CUDA's array interfaces have in common."""
    base = np.dtype(numpy_scalar(a.dtype))
    parts = component_shape(a.dtype)
    inner = []
    step = base.itemsize
    for n in reversed(parts):
        inner.insert(0, step)
        step *= n
    d = {
        "shape": a.shape + parts,
        "strides": a.strides + tuple(inner),
        "typestr": base.str,
        "data": (a.ptr or 0, False),
    }
    if base.names:
        d["descr"] = base.descr
    return d


def _wrap(c_array, dtype):
    """A _C.Array as an array."""
    out = _C.Array.__new__(array)
    _C.Array.__init__(out, c_array)
    out.dtype = dtype
    return out


def _copy(dest, src):
    from warp_torch.array_making import copy

    copy(dest, src)


def _clone(src, **options):
    from warp_torch.array_making import clone

    return clone(src, **options)


def _index(k):
    try:
        return k.__index__()
    except AttributeError:
        raise ArgumentTypeError(
            f"array[...]: got index {k!r}, wanted an int, a slice or an array of int32",
            code="WT616",
        ) from None


def _from_array(a, dtype, shape, requires_grad):
    """How an array becomes one of another dtype or shape: (copied from, host data, shape)."""
    if a.dtype is dtype and shape in (None, a.shape):
        return a, None, a.shape
    if requires_grad and a.requires_grad and _C.recording():
        raise GradientError(
            "array(array, dtype=...) inside a tape would lose the gradient; convert in a kernel, "
            "or outside of the tape",
            code="WT625",
        )
    if shape is None and component_shape(a.dtype) == component_shape(dtype):
        shape = a.shape
    return None, a.numpy(), shape


def _uninitialised(dtype, shape, name, pinned):
    get_device(name)
    text = _types.type_text(dtype)
    if not (pinned and name == "cpu" and get_cuda_device_count() > 0):
        return _C.empty(name, text, shape, stream_handle(None, name))
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = _C.size_of(text)
    memory = torch.empty(size * math.prod(shape), dtype=torch.uint8, pin_memory=True)
    return _C.wrap(name, text, memory.data_ptr(), shape, row_major(shape, size), memory)


def _shared(data, dtype, parts):
    """A NumPy array as an array on its memory; None where its layout is not that of elements."""
    if data.dtype != numpy_scalar(dtype) or not data.flags.writeable:
        return None
    if len(parts) > data.ndim or data.shape[data.ndim - len(parts) :] != parts:
        return None
    inner = data.strides[data.ndim - len(parts) :]
    if inner != row_major(parts, data.itemsize):
        return None
    shape, strides = data.shape[: data.ndim - len(parts)], data.strides[: data.ndim - len(parts)]
    return _C.wrap("cpu", _types.type_text(dtype), data.ctypes.data, shape, strides, data)


def _from_host(data, dtype, shape, device, copy_data, ndim):
    shared = isinstance(data, np.ndarray) and not copy_data and device_alias(device) == "cpu"
    if shared and shape is None and 0 < data.ndim <= 4:
        made = _shared(data, dtype, component_shape(dtype))
        if made is not None:
            return made
    values = host_elements(data, dtype)
    parts = component_shape(dtype)
    if shape is None:
        shape = values.shape
        if parts:
            values = _with_components(values, parts, dtype)
            complete = values.shape[-len(parts) :] == parts  # or there is no value at all
            shape = values.shape[: values.ndim - len(parts)] if complete else (0,)
        if shape == ():
            shape = (1,)
    else:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if math.prod(shape) * math.prod(parts) != values.size:
            raise ArgumentValueError(
                f"array(): data of shape {values.shape} for shape {shape}", code="WT613"
            )
    if ndim is not None and ndim != len(shape):
        raise ArgumentValueError(
            f"array(ndim={ndim}): the data has {len(shape)} dimensions", code="WT614"
        )
    name = device_alias(device)
    get_device(name)
    text = _types.type_text(dtype)
    if shared and values.flags.writeable:
        steps = row_major(shape, _C.size_of(text))
        return _C.wrap("cpu", text, values.ctypes.data, shape, steps, values)
    made = _C.empty(name, text, shape, stream_handle(None, name))
    if values.size:
        made.assign_bytes(values, stream_handle(None, name), record=False)
    return made


def _with_components(values, parts, dtype):
    """Host data with the components as last dimensions."""
    if not values.size or values.shape[-len(parts) :] == parts:
        return values
    count = math.prod(parts)
    if values.ndim == 1 and values.size % count == 0:
        return values.reshape((-1, *parts))
    if values.shape[-1] == count:
        return values.reshape((*values.shape[:-1], *parts))
    raise ArgumentValueError(
        f"array(): data of shape {values.shape} does not end in the components {parts} of "
        f"{_types.type_name(dtype)}",
        code="WT615",
    )


class _Memory:
    """Keeps memory that was given by its address; calls the deleter when nothing uses it."""

    def __init__(self, ptr, nbytes, deleter):
        self._end = weakref.finalize(self, deleter, ptr, nbytes)


def _from_pointer(ptr, dtype, shape, strides, device, deleter, owner):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    text = _types.type_text(dtype)
    size = _C.size_of(text)
    if strides is None:
        strides = row_major(shape, size)
    name = device_alias(device)
    get_device(name)
    if deleter is not None:
        owner = _Memory(int(ptr), size * math.prod(shape), deleter)
    return _C.wrap(name, text, int(ptr), shape, strides, owner)
