# SPDX-License-Identifier: Apache-2.0
# array.py: the array class and the functions that make and copy arrays.
"""Arrays of 1 to 4 dimensions of scalars, vectors, matrices or structs, on the CPU or a GPU."""

from __future__ import annotations

import math
import weakref

import numpy as np

from warp_torch import _C
from warp_torch import types as _types
from warp_torch.array_operators import ArrayOperators
from warp_torch.basic_types import scalar as _scalar
from warp_torch.device import device_alias, get_device, get_stream, stream_handle
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError
from warp_torch.host_data import (
    component_shape,
    element_dtype,
    host_elements,
    infer_dtype,
    numpy_scalar,
)

__all__ = [
    "array",
    "clone",
    "copy",
    "empty",
    "empty_like",
    "from_numpy",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]

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
        copy: False lets a CPU array share the NumPy array's memory where the layout allows it.

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
        device=None,
        pinned=False,
        copy=True,
        owner=None,
        deleter=None,
        ndim=None,
        requires_grad=False,
        grad=None,
    ):
        if dtype is _NOTHING or dtype is _types.Any or dtype is None:
            if data is None:
                raise ArgumentTypeError("array(): a dtype is needed when there is no data")
            dtype = data.dtype if isinstance(data, array) else infer_dtype(data)
        dtype = element_dtype(dtype)
        if length is not None and shape is None:
            shape = length
        source = None
        if isinstance(data, array):
            source, data, shape = _from_array(data, dtype, shape, requires_grad)
        if data is not None:
            made = _from_host(data, dtype, shape, device, copy, ndim)
        elif ptr is not None:
            made = _from_pointer(ptr, dtype, shape, strides, device, deleter, owner)
        else:
            name = device_alias(device)
            get_device(name)
            made = _C.empty(name, _types.type_text(dtype), shape, stream_handle(None, name))
        _C.Array.__init__(self, made)
        self.dtype = dtype
        self._base = None
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
            raise ArgumentTypeError("len(): the array has no dimensions")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key):
        out = self
        dim = 0
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(k, _C.Array) for k in keys):
            raise ArgumentTypeError(
                "array[...]: indices are ints and slices; use indexedarray for index arrays"
            )
        if sum(k is not Ellipsis for k in keys) > self.ndim:
            raise ArgumentValueError(f"array[...]: {len(keys)} indices for {self.ndim} dimensions")
        for k in keys:
            if k is Ellipsis:
                dim = out.ndim - (len(keys) - keys.index(k) - 1)
            elif isinstance(k, slice):
                start, stop, step = k.indices(out.shape[dim])
                count = max(0, math.ceil((stop - start) / step))
                out = _C.Array.slice(out, dim, start, count, step)
                dim += 1
            else:
                try:
                    index = k.__index__()
                except AttributeError:
                    raise ArgumentTypeError(
                        f"array[...]: got index {k!r}, wanted an int or a slice"
                    ) from None
                out = _C.Array.select(out, dim, index)
        return _wrap(out, self.dtype)

    def __setitem__(self, key, value):
        target = self[key]
        if isinstance(value, _C.Array):
            copy(target, value)
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
        return self.reshape((self.size,))

    def transpose(self, axes=None):
        """Dimensions in another order; reversed if none is given."""
        axes = tuple(reversed(range(self.ndim))) if axes is None else tuple(axes)
        if sorted(axes) != list(range(self.ndim)):
            raise ArgumentValueError(f"transpose({axes}): wanted an order of {self.ndim} axes")
        return _wrap(self.permute(list(axes)), self.dtype)

    @property
    def T(self):  # noqa: N802
        """The transposed view."""
        return self.transpose()

    def contiguous(self):
        """Itself if contiguous, else a copy that is."""
        return self if self.is_contiguous else clone(self)

    # Contents

    def numpy(self):
        """The elements as a NumPy array, after the work that writes them. A CPU array is shared,
        a GPU array copied. Components are the last dimensions."""
        if self.device_name == "cpu" and self.is_contiguous:
            self.note_host_read()
            return np.asarray(_HostView(self))
        out = np.empty(self.shape + component_shape(self.dtype), numpy_scalar(self.dtype))
        self.read_bytes(out)
        return out

    def list(self):
        """The elements as a flat list of host values."""
        flat = self.numpy().reshape((self.size,) + component_shape(self.dtype))
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
        return {
            **_interface(self),
            "version": 3,
            "stream": get_stream(self.device_name).cuda_stream or 1,
        }

    def fill_(self, value):
        """Sets every element; a number sets every component."""
        if hasattr(self.dtype, "family") and isinstance(value, (int, float, _scalar, np.number)):
            value = self.dtype(value)
        self.fill(value, stream_handle(None, self.device_name))
        return self

    def zero_(self):
        """Sets every element to zero."""
        self.zero(stream_handle(None, self.device_name))
        return self

    def assign(self, src):
        """Copies from an array, a NumPy array or nested lists of the same shape."""
        if isinstance(src, _C.Array):
            copy(self, src)
            return self
        data = host_elements(src, self.dtype)
        wanted = self.shape + component_shape(self.dtype)
        if data.size != math.prod(wanted):
            raise ArgumentValueError(f"assign(): got shape {data.shape}, the array has {wanted}")
        self.assign_bytes(data, stream_handle(None, self.device_name))
        return self

    def to(self, device, requires_grad=None):
        """Itself if on the device, else a copy there."""
        name = device_alias(device)
        if name == self.device_name:
            return self
        return clone(self, device=name, requires_grad=requires_grad)

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
        return str(self.numpy())

    def __bool__(self):
        if self.size == 1:
            return bool(self.numpy().ravel()[0])
        raise ArgumentValueError("the truth value of an array of several elements is ambiguous")

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
    out._base = None
    return out


def _from_array(a, dtype, shape, requires_grad):
    """How an array becomes one of another dtype or shape: (copied from, host data, shape)."""
    if a.dtype is dtype and shape in (None, a.shape):
        return a, None, a.shape
    if requires_grad and a.requires_grad and _C.recording():
        raise GradientError(
            "array(array, dtype=...) inside a tape would lose the gradient; convert in a kernel, "
            "or outside of the tape"
        )
    return None, a.numpy(), a.shape if shape is None else shape


def _from_host(data, dtype, shape, device, copy_data, ndim):
    shared = isinstance(data, np.ndarray) and not copy_data
    values = host_elements(data, dtype)
    parts = component_shape(dtype)
    if shape is None:
        shape = values.shape
        if parts:
            if values.shape[-len(parts) :] != parts:
                if values.ndim == 1 and values.size == math.prod(parts):
                    values = values.reshape((1, *parts))
                elif values.ndim >= 1 and values.shape[-1] == math.prod(parts):
                    values = values.reshape((*values.shape[:-1], *parts))
                elif values.size:
                    raise ArgumentValueError(
                        f"array(): data of shape {values.shape} does not end in the components "
                        f"{parts} of {_types.type_name(dtype)}"
                    )
            shape = values.shape[: values.ndim - len(parts)] if values.size else (0,)
        if shape == ():
            shape = (1,)
    else:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if math.prod(shape) * math.prod(parts) != values.size:
            raise ArgumentValueError(f"array(): data of shape {values.shape} for shape {shape}")
    if ndim is not None and ndim != len(shape):
        raise ArgumentValueError(f"array(ndim={ndim}): the data has {len(shape)} dimensions")
    name = device_alias(device)
    get_device(name)
    text = _types.type_text(dtype)
    if name == "cpu" and shared and values.flags.writeable:
        size = _C.size_of(text)
        steps = [size * math.prod(shape[i + 1 :]) for i in range(len(shape))]
        return _C.wrap("cpu", text, values.ctypes.data, shape, tuple(steps), values)
    made = _C.empty(name, text, shape, stream_handle(None, name))
    if values.size:
        made.assign_bytes(values, stream_handle(None, name), record=False)
    return made


class _Memory:
    """Keeps memory that was given by its address; calls the deleter when nothing uses it."""

    def __init__(self, ptr, nbytes, deleter):
        self._end = weakref.finalize(self, deleter, ptr, nbytes)


def _from_pointer(ptr, dtype, shape, strides, device, deleter, owner):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    text = _types.type_text(dtype)
    size = _C.size_of(text)
    if strides is None:
        strides = tuple(size * math.prod(shape[i + 1 :]) for i in range(len(shape)))
    name = device_alias(device)
    get_device(name)
    if deleter is not None:
        owner = _Memory(int(ptr), size * math.prod(shape), deleter)
    return _C.wrap(name, text, int(ptr), shape, strides, owner)


def empty(shape=None, dtype=float, device=None, requires_grad=False, pinned=False, **kwargs):
    """An array whose memory is not initialised."""
    return array(
        shape=_one_shape(shape, kwargs),
        dtype=dtype,
        device=device,
        pinned=pinned,
        requires_grad=requires_grad,
    )


def zeros(shape=None, dtype=float, device=None, requires_grad=False, pinned=False, **kwargs):
    """An array of zeros."""
    out = empty(shape, dtype, device, False, pinned, **kwargs)
    _off_tape_fill(out, None)
    if requires_grad:
        out.requires_grad = True
    return out


def full(
    shape=None, value=0, dtype=_NOTHING, device=None, requires_grad=False, pinned=False, **kwargs
):
    """An array filled with ``value``; the dtype is the value's if not given."""
    if dtype is _NOTHING:
        dtype = type(value)
    out = empty(shape, dtype, device, False, pinned, **kwargs)
    _off_tape_fill(out, value)
    if requires_grad:
        out.requires_grad = True
    return out


def _off_tape_fill(out, value):
    """First contents of a new array: no event for a tape."""
    if hasattr(out.dtype, "family") and isinstance(value, (int, float, _scalar, np.number)):
        value = out.dtype(value)
    handle = stream_handle(None, out.device_name)
    _C.fill_new(out, value, handle)


def ones(shape=None, dtype=float, device=None, requires_grad=False, pinned=False, **kwargs):
    """An array of ones (in every component)."""
    t = element_dtype(dtype)
    return full(_one_shape(shape, kwargs), t(1), t, device, requires_grad, pinned)


def _one_shape(shape, kwargs):
    n = kwargs.pop("n", None)
    if kwargs:
        raise TypeError(f"unexpected argument {next(iter(kwargs))!r}")
    shape = n if shape is None else shape
    return 0 if shape is None else shape


def _like(src, requires_grad):
    return {
        "dtype": src.dtype,
        "device": src.device_name,
        "requires_grad": src.requires_grad if requires_grad is None else requires_grad,
    }


def empty_like(src, device=None, requires_grad=None, pinned=None):
    """An uninitialised array with the shape and dtype of ``src``."""
    return empty(
        src.shape, **{**_like(src, requires_grad), **({"device": device} if device else {})}
    )


def zeros_like(src, device=None, requires_grad=None, pinned=None):
    """Zeros with the shape and dtype of ``src``."""
    return zeros(
        src.shape, **{**_like(src, requires_grad), **({"device": device} if device else {})}
    )


def ones_like(src, device=None, requires_grad=None, pinned=None):
    """Ones with the shape and dtype of ``src``."""
    return ones(
        src.shape, **{**_like(src, requires_grad), **({"device": device} if device else {})}
    )


def full_like(src, value, device=None, requires_grad=None, pinned=None):
    """``value`` in the shape and dtype of ``src``."""
    return full(
        src.shape, value, **{**_like(src, requires_grad), **({"device": device} if device else {})}
    )


def clone(src, device=None, requires_grad=None, pinned=None):
    """A copy; on a tape the copy is differentiable, but not with ``requires_grad=False``: that is
    how to cut the gradient on purpose."""
    out = empty_like(src, device, requires_grad)
    if requires_grad is False and out.device_name == src.device_name:
        _C.copy_unrecorded(out, src, stream_handle(None, out.device_name))
    else:
        copy(out, src)
    return out


def copy(dest, src, dest_offset=0, src_offset=0, count=0, stream=None):
    """Copies elements from ``src`` to ``dest`` (array, or for ``src`` also host data).

    With ``count`` (or offsets) both are seen as flat and that many elements are copied.
    """
    if not isinstance(src, _C.Array):
        return dest.assign(src)
    if count or dest_offset or src_offset:
        count = count or min(src.size - src_offset, dest.size - dest_offset)
        dest = dest.flatten()[dest_offset : dest_offset + count]
        src = src.flatten()[src_offset : src_offset + count]
    handle = stream_handle(
        stream, dest.device_name if dest.device_name != "cpu" else src.device_name
    )
    _C.copy(dest, src, handle)


def from_numpy(arr, dtype=_NOTHING, shape=None, device=None, requires_grad=False):
    """An array with a copy of NumPy data."""
    return array(arr, dtype=dtype, shape=shape, device=device, requires_grad=requires_grad)


_copy = copy  # array.__init__ has a parameter of that name
