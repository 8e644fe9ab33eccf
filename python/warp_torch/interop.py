# SPDX-License-Identifier: Apache-2.0
# interop.py: tensors of other libraries as arrays and back, without copies.
"""Zero-copy exchange with PyTorch and with everything that speaks DLPack."""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import weakref

import numpy as np
import torch

from warp_torch import _C
from warp_torch import types as _types
from warp_torch.array import _wrap, array
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError
from warp_torch.host_data import element_dtype, numpy_scalar

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

_nothing = contextlib.nullcontext()

# Tensors that may be seen as unsigned integers: PyTorch has few operations on those.
_UNSIGNED = {
    _types.uint16: _types.int16,
    _types.uint32: _types.int32,
    _types.uint64: _types.int64,
    _types.uint8: _types.int8,
    _types.bool_: _types.uint8,
}


@functools.cache
def _torch_dtypes():
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
        raise ArgumentTypeError(f"{dtype} has no kernel type", code="WT621") from None


def dtype_to_torch(dtype):
    """The ``torch.dtype`` of a scalar type, or of the components of a composite."""
    t = element_dtype(dtype)
    t = t.dtype if hasattr(t, "family") else t
    for torch_type, ours in _torch_dtypes().items():
        if ours is t:
            return torch_type
    raise ArgumentTypeError(f"{_types.type_name(dtype)} has no torch dtype", code="WT621")


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
    if type(t) not in (torch.Tensor, torch.nn.Parameter):
        raise ArgumentTypeError(
            f"from_torch(): got a {type(t).__name__}, wanted a torch.Tensor", code="WT601"
        )
    if t.layout is not torch.strided:
        raise ArgumentTypeError(
            f"from_torch(): layout {t.layout} has no strided memory", code="WT620"
        )
    if t.is_conj() or t.is_neg():
        raise ArgumentValueError(
            "from_torch(): the tensor is a lazy conjugate or negative view; "
            "call resolve_conj().resolve_neg() first",
            code="WT620",
        )
    if t.device.type not in ("cpu", "cuda"):
        raise ArgumentValueError(
            f"from_torch(): device {t.device} holds no data for kernels", code="WT620"
        )


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
    with _disabled():
        return _from_torch(t, dtype, requires_grad, grad, retain_grad)


def _from_torch(t, dtype, requires_grad, grad, retain_grad):
    _plain_tensor(t)
    if t.grad_fn is not None and requires_grad is not False and _C.recording():
        _refuse_detour(t)
    scalar = dtype_from_torch(t.dtype)
    dtype = scalar if dtype is None else element_dtype(dtype)
    base = dtype.dtype if hasattr(dtype, "family") else dtype
    if base is not scalar and _UNSIGNED.get(base) is not scalar:
        raise ArgumentTypeError(
            f"from_torch(): a tensor of {t.dtype} is not an array of {_types.type_name(dtype)}",
            code="WT619",
        )
    shape, strides = _geometry(t, dtype)
    out = _array_that_lent(t, dtype, shape, strides)
    if out is None:
        text = _types.type_text(dtype)
        device = "cpu" if t.device.type == "cpu" else f"cuda:{t.device.index}"
        owner = owner_of(t)
        place = (t.data_ptr(), shape, strides, owner, owner.data_ptr(), _span(owner))
        out = _wrap(_C.wrap_tensor(device, text, *place), dtype)
        if owner is not t:
            out.tensor = t
        region = active_region()
        if region is not None:
            region.saw_tensor(owner, out)
    if t.requires_grad if requires_grad is None else requires_grad:
        out.requires_grad = True
    if grad is not None:
        out.set_grad(grad if isinstance(grad, _C.Array) else from_torch(grad, dtype, False))
    if retain_grad:
        out.retain_grad = True
    return out


def _refuse_detour(t):
    """A tape follows no operations of PyTorch between two of its launches."""
    if active_region() is not None:
        return
    seen, nodes = set(), [t.grad_fn]
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        nodes += [n for n, _ in node.next_functions]
        a = getattr(getattr(node, "variable", None), "_wt_array", None)
        if a is not None and a._computed_on_tape():
            raise GradientError(
                f"from_torch(): PyTorch computed this tensor from {a!r}, which the tape has "
                "computed; the tape cannot follow what PyTorch did between. Use detach() to stop "
                "the gradient there, or tape_op() for the whole",
                code="WT326",
            )


def _array_that_lent(t, dtype, shape, strides):
    """The array that a tensor of to_torch() is; None for others."""
    a = getattr(t, "_wt_array", None)
    if a is None or a.dtype is not dtype or (a.ptr or 0) != t.data_ptr():
        return None
    if (a.shape, a.strides) != (shape, strides):
        return None
    out = _wrap(_C.Array(a), dtype)
    out.requires_grad = False
    return out


def _span(t):
    """Bytes from the first element of a tensor to the end of its last."""
    if t.numel() == 0 or t.is_contiguous():
        return t.numel() * t.element_size()
    return (1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride()))) * t.element_size()


def owner_of(t):
    """The tensor whose memory ``t`` is: what it is a view of, so that all views of one tensor are
    one block of memory to a tape."""
    base = t._base
    region = active_region()
    if region is not None:
        base = region.owner_of(t if base is None else base)
    if base is None or base is t or base.dtype is not t.dtype:
        return t
    first = t.data_ptr() - base.data_ptr()
    return base if 0 <= first and first + _span(t) <= _span(base) else t


class _Regions(threading.local):
    def __init__(self):
        self.open = []


_regions = _Regions()


def active_region():
    """The region of the tape_op that runs in this thread; None if there is none."""
    return _regions.open[-1] if _regions.open else None


def open_region(region):
    """From here on, tensors and arrays that pass between launches and PyTorch are told to it."""
    _regions.open.append(region)


def close_region(region):
    """The end of what open_region() began."""
    _regions.open.remove(region)


def _disabled():
    """What converts tensors is no operation on them to function modes of a region."""
    return torch._C.DisableTorchFunction() if _regions.open else _nothing


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
                f"components of {_types.type_name(dtype)}",
                code="WT615",
            )
        if t.numel() and any(
            p > 1 and s != i for p, s, i in zip(parts, strides[len(shape) - n :], inner)
        ):
            raise ArgumentValueError(
                "from_torch(): the components are not contiguous; call .contiguous() on the tensor",
                code="WT615",
            )
        shape, strides = shape[: len(shape) - n], strides[: len(strides) - n]
    if shape == ():
        shape, strides = (1,), (math.prod(parts) * t.element_size(),)
    return shape, strides


def to_torch(a, requires_grad=None):
    """An array as a tensor on the same memory; components become the last dimensions.

    The array of a whole tensor gives that tensor back. ``requires_grad`` is as the array's if not
    given; ``.grad`` is then the memory of the array's gradient, so that PyTorch's optimisers see
    what tapes write. PyTorch's current stream waits for what writes the array. A tape notices when
    PyTorch changes the tensor in place, and its backward raises if it needs what was there.
    """
    if not isinstance(a, _C.Array):
        raise ArgumentTypeError(
            f"to_torch(): got a {type(a).__name__}, wanted an array", code="WT601"
        )
    with _disabled():
        return _to_torch(a, requires_grad)


def _to_torch(a, requires_grad):
    t = getattr(a, "tensor", a.lender)
    if isinstance(t, torch.Tensor) and t.data_ptr() == (a.ptr or 0):
        if (a.shape, a.strides) == _geometry(t, a.dtype):
            return t
    stream = None if a.device_name == "cpu" else _C.current_stream(a.device_name) or 1
    out = torch.utils.dlpack.from_dlpack(_C.to_dlpack(a, stream, (1, 0)))
    if not out.is_inference():
        _watch(a, out)
    out._wt_array = a  # so that a tape knows it when it comes back
    region = active_region()
    if region is not None:
        region.saw_array(out, a)
    elif a.requires_grad if requires_grad is None else requires_grad:
        out.requires_grad_()
        if a.requires_grad:
            out.grad = to_torch(a.grad, False)
        kernel = _C.lost_by(a)
        if kernel is not None:
            out.register_hook(lambda g: _refuse_lost(kernel))
    return out


def _watch(a, tensor):
    """Tapes see from now on when PyTorch changes the tensor in place."""
    counter = tensor.detach()  # has the tensor's version counter, and then no memory
    counter.data = tensor.new_empty(0)
    _C.watch_tensor(a, counter, weakref.ref(tensor))


def _refuse_lost(kernel):
    raise GradientError(
        f"backward(): a launch of {kernel} computed this tensor, outside of a Tape, from tensors "
        f"that require a gradient, which would be lost. Use op = warp_torch.kernel_op({kernel}) "
        "and call op(...), or launch inside a Tape and call its backward().",
        code="WT512",
    )


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
    if isinstance(obj, torch.Tensor):
        if obj.requires_grad:
            raise ArgumentValueError(
                "from_dlpack(): the tensor requires a gradient, which this would lose; use "
                "from_torch(), or detach() it",
                code="WT625",
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
            f"from_dlpack(): got a {type(obj).__name__}, wanted an object with __dlpack__",
            code="WT601",
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
    if isinstance(obj, torch.Tensor):
        if obj.requires_grad and torch.is_grad_enabled() and not _C.recording():
            raise GradientError(
                f"{what}: the tensor requires a gradient, which a bare launch() would lose. Use "
                "op = warp_torch.kernel_op(kernel) and call op(...), or launch inside a Tape, or "
                "under torch.no_grad().",
                code="WT512",
            )
        return from_torch(obj, _types.from_text(dtype_text), obj.requires_grad and _C.recording())
    if hasattr(obj, "__array_interface__"):
        return _on_numpy_memory(np.asarray(obj), _types.from_text(dtype_text), what)
    if isinstance(obj, _types.ArrayType):  # wp.array(dtype=float) stands for an empty array
        return array(shape=(0,) * obj.ndim, dtype=obj.dtype)
    if hasattr(obj, "__cuda_array_interface__") and not hasattr(obj, "__dlpack__"):
        obj = torch.as_tensor(obj, device="cuda")
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


def _on_numpy_memory(data, dtype, what):
    """A NumPy array as an array of the CPU on its memory: kernels write into it."""
    base = numpy_scalar(dtype)
    if data.dtype != base:
        raise ArgumentTypeError(
            f"{what}: got a NumPy array of {data.dtype}, wanted {base}", code="WT503"
        )
    made = array(data, dtype=dtype, device="cpu", copy=False)
    if data.size and (not data.flags.writeable or made.ptr != data.ctypes.data):
        raise ArgumentValueError(
            f"{what}: a kernel cannot use the memory of this NumPy array, of shape {data.shape}, "
            f"strides {data.strides}{'' if data.flags.writeable else ' and read-only'}",
            code="WT502",
            hint="make an array of it: warp_torch.array(data, dtype=...)",
        )
    return made


def _check_tensors(kernel, found):
    """Called before launches with tensors that require a gradient, as (tensor, parameter, whether
    it is written, whether it is read with its gradient). True if their history ends there."""
    if not torch.is_grad_enabled() or active_region() is not None:
        return False
    recording = _C.recording()
    for t, name, writes, _ in found:
        if not writes or (t.is_leaf and recording):
            continue
        raise GradientError(
            f"launch of {kernel}, argument {name!r}: the launch would write into a tensor that "
            "requires a gradient, and PyTorch's graph would not know. Use op = "
            "warp_torch.kernel_op(kernel) and call op(...), or write into a tensor of its own, or "
            "under torch.no_grad().",
            code="WT512",
        )
    return not recording and any(reads for *_, reads in found)


_C.set_tensor_check(_check_tensors)


def _count_write(t):
    torch.autograd.graph.increment_version(t)


_C.set_version_counter(_count_write)


def gradient_of(a, t):
    """The gradient of a tensor as a tape has it, where ``a`` is an array on its memory; else
    None."""
    g = a.flat_gradient()
    if g is None:
        return None
    flat = to_torch(_wrap(g, _types.from_text(g.dtype_text)), False)
    first = (t.data_ptr() - owner_of(t).data_ptr()) // t.element_size()
    return flat.as_strided(t.shape, t.stride(), first)


def _tensors_on(tape):
    """The tensors that a tape has seen, each with its gradients."""
    found = {}
    for a in tape.arrays():
        t = a.lender
        g = gradient_of(a, t) if isinstance(t, torch.Tensor) else None
        if g is not None:
            found.setdefault(id(t), (t, []))[1].append(g)
    return found


def tensor_gradient(tape, tensor):
    """Gradient of a tensor that a tape has seen, as a tensor; None if there is none."""
    owner = owner_of(tensor)
    grads = [gradient_of(a, tensor) for a in tape.arrays() if a.lender is owner]
    grads = [g for g in grads if g is not None]
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
    with torch.no_grad():
        for t, grads, before in leaves:
            for g, b in zip(grads, before):
                if t.grad is None:
                    t.grad = g - b
                else:
                    t.grad.add_(g - b)
