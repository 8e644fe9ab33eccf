# SPDX-License-Identifier: Apache-2.0
# interop.py: tensors of other libraries as arrays and back, without copies.
"""Zero-copy exchange with PyTorch and with everything that speaks DLPack."""

from __future__ import annotations

import math

import numpy as np

from warp_torch import _C
from warp_torch import types as _types
from warp_torch.array import _wrap
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError
from warp_torch.host_data import element_dtype

__all__ = [
    "device_from_torch",
    "device_to_torch",
    "dtype_from_torch",
    "dtype_to_torch",
    "from_dlpack",
    "from_torch",
    "to_dlpack",
    "to_torch",
]

# Tensors that may be seen as unsigned integers: PyTorch has few operations on those.
_UNSIGNED = {
    _types.uint16: _types.int16,
    _types.uint32: _types.int32,
    _types.uint64: _types.int64,
    _types.uint8: _types.int8,
    _types.bool_: _types.uint8,
}


def _torch_dtypes():
    import torch

    return {
        torch.bool: _types.bool_,
        torch.int8: _types.int8,
        torch.uint8: _types.uint8,
        torch.int16: _types.int16,
        torch.uint16: _types.uint16,
        torch.int32: _types.int32,
        torch.uint32: _types.uint32,
        torch.int64: _types.int64,
        torch.uint64: _types.uint64,
        torch.float16: _types.float16,
        torch.bfloat16: _types.bfloat16,
        torch.float32: _types.float32,
        torch.float64: _types.float64,
    }


def dtype_from_torch(dtype):
    """The scalar type of a ``torch.dtype``."""
    try:
        return _torch_dtypes()[dtype]
    except KeyError:
        raise ArgumentTypeError(f"{dtype} has no kernel type") from None


def dtype_to_torch(dtype):
    """The ``torch.dtype`` of a scalar type, or of the components of a composite."""
    t = element_dtype(dtype)
    t = t.dtype if hasattr(t, "family") else t
    for torch_type, ours in _torch_dtypes().items():
        if ours is t:
            return torch_type
    raise ArgumentTypeError(f"{_types.type_name(dtype)} has no torch dtype")


def device_from_torch(device):
    """The Device of a ``torch.device``."""
    from warp_torch.device import get_device

    return get_device(str(device))


def device_to_torch(device):
    """The name that PyTorch has for a device of ours."""
    from warp_torch.device import get_device

    return get_device(device).alias


def _plain_tensor(t):
    """Raises on tensors whose memory is not what their values say."""
    import torch

    if type(t) not in (torch.Tensor, torch.nn.Parameter):
        raise ArgumentTypeError(f"from_torch(): got a {type(t).__name__}, wanted a torch.Tensor")
    if t.layout is not torch.strided:
        raise ArgumentTypeError(f"from_torch(): layout {t.layout} has no strided memory")
    if t.is_conj() or t.is_neg():
        raise ArgumentValueError(
            "from_torch(): the tensor is a lazy conjugate or negative view; "
            "call resolve_conj().resolve_neg() first"
        )
    if t.device.type not in ("cpu", "cuda"):
        raise ArgumentValueError(f"from_torch(): device {t.device} holds no data for kernels")


def from_torch(t, dtype=None, requires_grad=None, grad=None, return_ctype=False, retain_grad=False):
    """A tensor as an array on the same memory. ``t.grad`` is never touched.

    Args:
        t: a strided CPU or CUDA tensor.
        dtype: element type; for one with components, these are the last dimensions of ``t``, which
            must be contiguous. The tensor's own scalar type if not given; signed integers may be
            seen as unsigned ones of the same size, uint8 as bool.
        requires_grad: whether the array carries a gradient; as ``t`` does if not given. After
            ``Tape.backward`` the gradient is added to ``t.grad`` if ``t`` is a leaf.

    Raises:
        ArgumentTypeError: dtypes do not agree, or the tensor is of a kind with no plain memory.
        ArgumentValueError: shape or strides do not fit the components, or over 4 dimensions.
    """
    _plain_tensor(t)
    scalar = dtype_from_torch(t.dtype)
    dtype = scalar if dtype is None else element_dtype(dtype)
    base = dtype.dtype if hasattr(dtype, "family") else dtype
    if base is not scalar and _UNSIGNED.get(base) is not scalar:
        raise ArgumentTypeError(
            f"from_torch(): a tensor of {t.dtype} is not an array of {_types.type_name(dtype)}"
        )
    shape, strides = _geometry(t, dtype)
    text = _types.type_text(dtype)
    device = "cpu" if t.device.type == "cpu" else f"cuda:{t.device.index}"
    out = _wrap(_C.wrap_tensor(device, text, t.data_ptr(), shape, strides, t), dtype)
    if t.requires_grad if requires_grad is None else requires_grad:
        out.requires_grad = True
    if grad is not None:
        out.set_grad(grad if isinstance(grad, _C.Array) else from_torch(grad, dtype, False))
    out.retain_grad = retain_grad
    return out


def _geometry(t, dtype):
    """Shape, and strides in bytes, of a tensor as an array of ``dtype``."""
    shape, strides = tuple(t.shape), tuple(s * t.element_size() for s in t.stride())
    parts = tuple(dtype.shape) if hasattr(dtype, "family") else ()
    if parts:
        n = len(parts)
        inner = tuple(math.prod(parts[i + 1 :]) * t.element_size() for i in range(n))
        if len(shape) < n or shape[len(shape) - n :] != parts:
            raise ArgumentValueError(
                f"from_torch(): shape {shape} does not end in {parts}, the "
                f"components of {_types.type_name(dtype)}"
            )
        if t.numel() and any(
            p > 1 and s != i for p, s, i in zip(parts, strides[len(shape) - n :], inner)
        ):
            raise ArgumentValueError(
                "from_torch(): the components are not contiguous; call .contiguous() on the tensor"
            )
        shape, strides = shape[: len(shape) - n], strides[: len(strides) - n]
    if shape == ():
        shape, strides = (1,), (math.prod(parts) * t.element_size(),)
    return shape, strides


def to_torch(a, requires_grad=None):
    """An array as a tensor on the same memory; components become the last dimensions.

    The array of a whole tensor gives that tensor back. ``requires_grad`` is as the array's if not
    given; ``.grad`` is then the memory of the array's gradient, so that PyTorch's optimisers see
    what tapes write. PyTorch's current stream waits for what writes the array.
    """
    import torch

    if not isinstance(a, _C.Array):
        raise ArgumentTypeError(f"to_torch(): got a {type(a).__name__}, wanted an array")
    t = a.lender
    if isinstance(t, torch.Tensor) and t.data_ptr() == (a.ptr or 0):
        if (a.shape, a.strides) == _geometry(t, a.dtype):
            return t
    stream = None if a.device_name == "cpu" else _C.current_stream(a.device_name) or 1
    out = torch.utils.dlpack.from_dlpack(_C.to_dlpack(a, stream, (1, 0)))
    if a.requires_grad if requires_grad is None else requires_grad:
        out.requires_grad_()
        if a.requires_grad:
            out.grad = to_torch(a.grad, False)
    return out


def to_dlpack(a, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule of an array, on the same memory unless ``copy`` or ``dl_device`` ask for
    another. Arguments are those of ``__dlpack__`` in the Python array API standard.

    Raises:
        BufferError: structs, freed arrays, another GPU, or ``copy=False`` where only a copy does.
    """
    return _C.to_dlpack(a, stream, max_version, dl_device, copy)


def dlpack_device(a):
    """``(device type, device number)`` of an array in DLPack's terms."""
    return _C.dlpack_device(a)


def from_dlpack(obj, dtype=None):
    """An array on the memory of anything that speaks DLPack (NumPy, CuPy, JAX, PyTorch...).

    Args:
        obj: an object with ``__dlpack__``, or a capsule.
        dtype: element type; for one with components, these are the last dimensions.

    Raises:
        ArgumentTypeError: no DLPack, or a dtype that kernels do not have.
        ArgumentValueError: read-only memory, a device or a layout that kernels cannot use, or a
            tensor that requires a gradient.
    """
    import torch

    if isinstance(obj, torch.Tensor):
        if obj.requires_grad:
            raise ArgumentValueError(
                "from_dlpack(): the tensor requires a gradient, which this would lose; use "
                "from_torch(), or detach() it"
            )
        return from_torch(obj, dtype, requires_grad=False)
    t = None if dtype is None else element_dtype(dtype)
    made = _C.from_capsule(_capsule_of(obj), "" if t is None else _types.type_text(t))
    return _wrap(made, t or _types.from_text(made.dtype_text))


def _capsule_of(obj):
    if type(obj).__name__ == "PyCapsule":
        return obj
    if not hasattr(obj, "__dlpack__") or not hasattr(obj, "__dlpack_device__"):
        raise ArgumentTypeError(
            f"from_dlpack(): got a {type(obj).__name__}, wanted an object with __dlpack__"
        )
    kind, number = obj.__dlpack_device__()
    options = {}
    if kind == 2:
        stream = _C.current_stream(f"cuda:{number}")
        capturing = _C.is_capturing(f"cuda:{number}", stream)
        options["stream"] = -1 if capturing else stream or 1
    try:
        return obj.__dlpack__(max_version=(1, 3), **options)
    except TypeError:  # a producer from before DLPack 1.0
        return obj.__dlpack__(**options)


def to_array(obj, dtype_text, ndim, what):
    """An argument of launch() that is no array of ours: called from C++."""
    import torch

    if isinstance(obj, torch.Tensor):
        if obj.requires_grad and torch.is_grad_enabled() and not _C.recording():
            raise GradientError(
                f"{what}: the tensor requires a gradient, which a bare launch() would lose. Use "
                "op = warp_torch.kernel_op(kernel) and call op(...), or launch inside a Tape, or "
                "under torch.no_grad().",
                code="WT512",
            )
        return from_torch(obj, _types.from_text(dtype_text), obj.requires_grad and _C.recording())
    if isinstance(obj, np.ndarray):
        raise ArgumentTypeError(
            f"{what}: got a NumPy array, wanted an array",
            code="WT502",
            hint="make one with warp_torch.array(data, dtype=...)",
        )
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj, _types.from_text(dtype_text))
    raise ArgumentTypeError(
        f"{what}: got {type(obj).__name__}, wanted an array",
        code="WT502",
        hint="make one with warp_torch.array(data, dtype=...)"
        if isinstance(obj, (list, tuple))
        else "",
    )


_C.set_array_converter(to_array)


def _count_write(t):
    import torch

    torch.autograd.graph.increment_version(t)


_C.set_version_counter(_count_write)


def _tensors_on(tape):
    """The tensors that a tape has seen, each with the views of their gradients."""
    import torch

    found = {}
    for a in tape.arrays():
        t = a.lender
        if not isinstance(t, torch.Tensor):
            continue
        dtype = _types.from_text(a.dtype_text)
        g = a.gradient_at(t.data_ptr(), *_geometry(t, dtype))
        if g is not None:
            grads = found.setdefault(id(t), (t, []))[1]
            grads.append(to_torch(_wrap(g, dtype), False).reshape(t.shape))
    return found


def tensor_gradient(tape, tensor):
    """Gradient of a tensor that a tape has seen, as a tensor; None if there is none."""
    grads = _tensors_on(tape).get(id(tensor), (None, ()))[1]
    return sum(grads[1:], grads[0]) if grads else None


def leaf_gradients(tape):
    """What is in the gradients of leaf tensors before a backward, for deliver()."""
    return [
        (t, grads, [g.clone() for g in grads])
        for t, grads in _tensors_on(tape).values()
        if t.is_leaf and t.requires_grad
    ]


def deliver(leaves):
    """Adds what a backward has brought to ``.grad`` of the leaves, as autograd does."""
    import torch

    with torch.no_grad():
        for t, grads, before in leaves:
            for g, b in zip(grads, before):
                if t.grad is None:
                    t.grad = g - b
                else:
                    t.grad.add_(g - b)
