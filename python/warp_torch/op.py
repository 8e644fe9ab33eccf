# SPDX-License-Identifier: Apache-2.0
# op.py: kernel_op() makes a PyTorch op of a kernel.
"""A kernel as an op that trains, compiles and exports like one of PyTorch's own."""

from __future__ import annotations

import importlib
import os

import torch

from warp_torch import _C
from warp_torch import types as _types
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, DeviceError

__all__ = ["KernelOp", "kernel_op"]

_NUMBERS = ("float", "int", "bool")


def _torch_library():
    """Path of the library for this PyTorch, which is loaded at the first call."""
    major, minor = torch.__version__.split(".")[:2]
    folder = os.path.dirname(_C.__file__)
    path = os.path.join(folder, f"libwt_torch_{major}_{minor}.so")
    if not os.path.exists(path):
        built = sorted(
            f[len("libwt_torch_") : -3].replace("_", ".")
            for f in os.listdir(folder)
            if f.startswith("libwt_torch_")
        )
        raise DeviceError(
            f"kernel_op(): warp_torch was built for PyTorch {', '.join(built) or 'none'}, this is "
            f"{torch.__version__}. Rebuild warp_torch, or use autograd_function(kernel)."
        )
    torch.ops.load_library(path)
    return path


def _expressions(value, what):
    """A shape option as a list of expressions."""
    if isinstance(value, (int, str)):
        value = (value,)
    try:
        out = [str(v) for v in value]
    except TypeError:
        out = None
    if out is None or any(not isinstance(v, (int, str)) for v in value):
        raise ArgumentTypeError(
            f"kernel_op({what}=...): got {value!r}, wanted an int, an expression "
            "such as 'x.shape[0]', or a tuple of these"
        )
    return out


class KernelOp:
    """What ``kernel_op`` returns: call it with tensors and numbers.

    Attributes:
        kernel: the kernel.
        forward_op, backward_op: the registered PyTorch ops (``backward_op`` is None if the kernel
            has no gradient).
        schema: the forward op's schema.
        arguments, results: names in order.
    """

    def __init__(self, kernel, dim=None, outputs=None, mutates=(), deterministic=None):
        self.kernel = kernel
        self._options = (dim, outputs, tuple(mutates), deterministic)
        self._compiled = kernel.specialise()
        self._dim = [] if dim is None else _expressions(dim, "dim")
        self._outputs = {k: _expressions(v, f"outputs[{k!r}]") for k, v in (outputs or {}).items()}
        self._variants = {}
        first = self._register(())
        self._params = first["params"]
        self.forward_op = first["op"]
        self.backward_op = first["backward"]
        self.schema = self.forward_op._schema
        self.arguments = tuple(
            p["name"] for p in self._params if p["role"] not in ("output", "sum")
        )
        self.results = tuple(
            p["name"] for p in self._params if p["role"] in ("output", "sum", "state")
        )
        by_name = {p["name"]: p for p in self._params}
        self._numeric = tuple(
            i for i, n in enumerate(self.arguments) if by_name[n]["role"] in _NUMBERS
        )
        self._composite = {
            i: by_name[n] for i, n in enumerate(self.arguments) if by_name[n]["value"]
        }

    def _register(self, tensors):
        """The op in which the named numeric parameters are tensors; made once."""
        made = self._variants.get(tensors)
        if made is None:
            dim, outputs, mutates, _ = self._options
            host = _C.OpHost(self._compiled, self._dim, self._outputs, list(mutates), list(tensors))
            params = host.params
            refusal = host.refusal
            differentiable = any(
                p["differentiable"] and p["role"] in ("input", "state", "mutated") for p in params
            )
            name = host.register(_torch_library())
            space = torch.ops.warp_torch
            made = {
                "params": params,
                "op": getattr(space, name).default,
                "backward": (
                    getattr(space, name + "_backward").default
                    if differentiable and refusal is None
                    else None
                ),
            }
            self._variants[tensors] = made
        return made

    def __call__(self, *args, **kwargs):
        if kwargs or len(args) != len(self.arguments):
            args = self._ordered(args, kwargs)
        tensors = tuple(
            self.arguments[i] for i in self._numeric if isinstance(args[i], torch.Tensor)
        )
        if self._composite:
            args = self._with_composites(args)
        if not tensors:
            return self.forward_op(*args)
        return self._register(tensors)["op"](*args)

    def _ordered(self, args, kwargs):
        if len(args) > len(self.arguments):
            raise ArgumentValueError(
                f"{self.kernel.key}(): got {len(args)} arguments, wanted "
                f"{', '.join(self.arguments)}"
            )
        out = list(args)
        for name in self.arguments[len(args) :]:
            if name not in kwargs:
                raise ArgumentValueError(f"{self.kernel.key}(): argument {name!r} is missing")
            out.append(kwargs[name])
        for name in kwargs:
            if name not in self.arguments[len(args) :]:
                raise ArgumentValueError(f"{self.kernel.key}(): unexpected argument {name!r}")
        return out

    def _with_composites(self, args):
        """Vectors and matrices given as host values become tensors beside the others."""
        args = list(args)
        for i, p in self._composite.items():
            if isinstance(args[i], torch.Tensor):
                continue
            device = next((a.device for a in args if isinstance(a, torch.Tensor)), None)
            value = args[i].numpy() if isinstance(args[i], _types.Composite) else args[i]
            dtype = _torch_dtype(p["scalar"])
            args[i] = torch.as_tensor(value, dtype=dtype, device=device).reshape(p["components"])
        return args

    def __reduce__(self):
        return (_rebuild, (self.kernel.__module__, self.kernel.__qualname__, self._options))

    def __repr__(self):
        return f"<kernel_op {self.schema}>"


def _torch_dtype(scalar):
    return {
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "f32": torch.float32,
        "f64": torch.float64,
        "i8": torch.int8,
        "u8": torch.uint8,
        "i16": torch.int16,
        "i32": torch.int32,
        "i64": torch.int64,
        "bool": torch.bool,
    }[scalar]


def _rebuild(module, name, options):
    """Unpickles: the kernel by its import path."""
    target = importlib.import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    dim, outputs, mutates, deterministic = options
    return kernel_op(target, dim, outputs, mutates, deterministic)


def kernel_op(kernel, dim=None, outputs=None, mutates=(), deterministic=None):
    """A PyTorch op from a kernel.

    Arguments of the op are the kernel's parameters in order, less those arrays that it only writes;
    these are the results (one tensor, or a tuple in order). An array that is read and written is
    copied, and the copy is a result, unless named in ``mutates``. A vector type's components are
    the tensor's last dimensions.

    Args:
        kernel: what @kernel made.
        dim: the launch range, as ints or expressions over ``name.shape[k]``; taken from the inputs
            that are indexed by the bare thread index if not given.
        outputs: ``{result: shape}`` where a result's shape is not the launch range.
        mutates: names of arrays to change in place.

    Raises:
        ArgumentValueError: the launch range or a result's shape does not follow from the kernel.
    """
    if getattr(kernel, "wt_kind", None) != "kernel":
        raise ArgumentTypeError(f"kernel_op(): got {kernel!r}, wanted what @kernel made")
    return KernelOp(kernel, dim, outputs, mutates, deterministic)
