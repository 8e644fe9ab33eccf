# SPDX-License-Identifier: Apache-2.0
# interop.py: tensors of other libraries as arrays and back, without copies.
"""Zero-copy exchange with PyTorch and with everything that speaks DLPack."""

from __future__ import annotations

import weakref

import numpy as np

from warp_torch import _C
from warp_torch import types as _types
from warp_torch.array import _wrap, element_dtype
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError

__all__ = [
    "device_from_torch",
    "device_to_torch",
    "dtype_from_torch",
    "dtype_to_torch",
    "from_torch",
    "to_torch",
]


_arrays_on_tensors = weakref.WeakSet()


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


def from_torch(t, dtype=None, requires_grad=None, grad=None, return_ctype=False):
    """A tensor as an array on the same memory. ``t.grad`` is never touched.

    Args:
        t: a strided CPU or CUDA tensor.
        dtype: element type; for one with components, these are the last dimensions of ``t``, which
            must be contiguous. The tensor's own scalar type if not given.
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
    if base is not scalar:
        raise ArgumentTypeError(
            f"from_torch(): a tensor of {t.dtype} is not an array of {_types.type_name(dtype)}"
        )
    shape, strides = tuple(t.shape), tuple(s * t.element_size() for s in t.stride())
    parts = tuple(dtype.shape) if hasattr(dtype, "family") else ()
    if parts:
        n = len(parts)
        inner = tuple(int(np.prod(parts[i + 1 :])) * t.element_size() for i in range(n))
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
        shape, strides = (1,), (t.element_size(),)
    device = "cpu" if t.device.type == "cpu" else f"cuda:{t.device.index}"
    out = _wrap(_C.wrap(device, _types.type_text(dtype), t.data_ptr(), shape, strides, t), dtype)
    out._tensor = t
    _arrays_on_tensors.add(out)
    if t.requires_grad if requires_grad is None else requires_grad:
        out.requires_grad = True
    if grad is not None:
        out.set_grad(grad if isinstance(grad, _C.Array) else from_torch(grad, dtype, False))
    return out


def to_torch(a, requires_grad=None):
    """An array as a tensor on the same memory; components become the last dimensions."""
    import torch

    if getattr(a.dtype, "wt_kind", None) == "struct":
        raise ArgumentTypeError("to_torch(): an array of structs is no tensor")
    owner = getattr(a, "_tensor", None)
    if (
        owner is not None
        and owner.data_ptr() == (a.ptr or 0)
        and owner.numel() == a.size * int(np.prod(getattr(a.dtype, "shape", ()) or (1,)))
    ):
        return owner
    dtype = dtype_to_torch(a.dtype)
    if a.device_name == "cpu":
        host = np.asarray(a.__array_interface__ and _Exposed(a))
        out = torch.from_numpy(host)
        out = out.view(dtype) if out.dtype != dtype else out
    else:
        out = torch.as_tensor(_Exposed(a), device=a.device_name)
    if a.requires_grad if requires_grad is None else requires_grad:
        out.requires_grad_()
    return out


class _Exposed:
    """Array interfaces of an array, which it keeps alive."""

    def __init__(self, a):
        self._owner = a
        if a.device_name == "cpu":
            self.__array_interface__ = a.__array_interface__
        else:
            self.__cuda_array_interface__ = a.__cuda_array_interface__


def to_array(obj, dtype_text, ndim, what):
    """An argument of launch() that is no array of ours: called from C++."""
    import torch

    if isinstance(obj, torch.Tensor):
        if obj.requires_grad and torch.is_grad_enabled() and not _C.recording():
            raise GradientError(
                f"{what}: the tensor requires a gradient, which a bare launch() would lose. Use "
                "op = warp_torch.kernel_op(kernel) and call op(...), or launch inside a Tape, or "
                "under torch.no_grad()."
            )
        return _tensor_argument(obj, _types.from_text(dtype_text))
    if isinstance(obj, np.ndarray):
        raise ArgumentTypeError(
            f"{what}: got a NumPy array, wanted an array; "
            "make one with warp_torch.array(data, dtype=...)"
        )
    raise ArgumentTypeError(f"{what}: got {type(obj).__name__}, wanted an array")


def _tensor_argument(t, dtype):
    """One array a tensor while a tape records, so that its gradient is one."""
    if not _C.recording():
        return from_torch(t, dtype, requires_grad=False)
    for a in _arrays_on_tensors:
        if a._tensor is t and a.dtype is dtype:
            return a
    made = from_torch(t, dtype)
    # The tensor outlives the launch through the tape; so must the array that stands for it.
    t.__dict__.setdefault("_wt_arrays", []).append(made) if hasattr(t, "__dict__") else None
    return made


_C.set_array_converter(to_array)


def tape_gradient(tape, tensor):
    """Gradient of a tensor that a tape has seen, as a tensor; None if there is none."""
    return tape._tensors.get(id(tensor), (None, None))[1]


def deliver_gradients(tape):
    """After a backward: adds gradients of leaf tensors that require one to their ``.grad``, as
    autograd does, and keeps all of them for ``tape.gradients``."""
    if not _arrays_on_tensors:
        return
    seen = {a.ptr for a in tape.arrays()}
    for a in list(_arrays_on_tensors):
        grad = a.grad
        if a.ptr not in seen or grad is None:
            continue
        t = a._tensor
        g = to_torch(grad).reshape(t.shape).clone()
        grad.zero_()
        if t.requires_grad and t.is_leaf:
            t.grad = g if t.grad is None else t.grad + g
        tape._tensors[id(t)] = (t, g)
