# SPDX-License-Identifier: Apache-2.0
# op_arguments.py: what kernel_op() and autograd_function() have in common: options and arguments.
"""A kernel seen as a function of tensors and numbers."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping

import torch

from warp_torch import _C
from warp_torch import types as _types
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError
from warp_torch.interop import to_torch

_NUMBERS = ("float", "int", "bool")
_PLAIN_NUMBERS = (float, int, bool)

TORCH_DTYPES = {
    "bool": torch.bool,
    "i8": torch.int8,
    "u8": torch.uint8,
    "i16": torch.int16,
    "u16": torch.uint16,
    "i32": torch.int32,
    "u32": torch.uint32,
    "i64": torch.int64,
    "u64": torch.uint64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}


# What the core says of a kernel without an adjoint.
_REFUSAL = re.compile(r"(?:(.+?):(\d+):(\d+): )?error (WT\d+): (.*?)(?:\n  help: (.*))?", re.DOTALL)


def refused(text):
    """The error of a kernel that has no adjoint, for the reason that the core gives."""
    found = _REFUSAL.fullmatch(text)
    if found is None:
        return GradientError(text, code="WT653")
    file, line, column, code, message, remedy = found.groups()
    place = {"filename": file, "lineno": int(line), "col": int(column)} if file else {}
    return GradientError(message, code=code, hint=remedy or "", **place)


def _as_tensor(value):
    if isinstance(value, torch.Tensor) or not hasattr(value, "__dlpack__"):
        return value
    return to_torch(value) if isinstance(value, _C.Array) else torch.from_dlpack(value)


def as_tensors(args):
    """Arguments with arrays, ours and those of other libraries, as tensors on their memory. None if
    there is none."""
    out = [_as_tensor(a) for a in args]
    return None if all(a is b for a, b in zip(args, out)) else out


def _expressions(value, who):
    """A shape option as a list of expressions."""
    if isinstance(value, (int, str)):
        value = (value,)
    try:
        out = [str(v) for v in value]
    except TypeError:
        out = None
    if out is None or any(not isinstance(v, (int, str)) for v in value):
        raise ArgumentTypeError(
            f"{who}: got {value!r}, wanted an int, an expression "
            "such as 'x.shape[0]', or a tuple of these",
            code="WT803",
        )
    return out


class OpArguments:
    """Options of an op, and its calls' arguments in the order of its parameters.

    Attributes:
        kernel: the kernel.
        params: one dict a parameter, as the core describes it; a struct's fields are parameters.
        arguments, results: names in order.
    """

    def __init__(self, who, kernel, dim, outputs, mutates, deterministic):
        if getattr(kernel, "wt_kind", None) != "kernel":
            raise ArgumentTypeError(
                f"{who}(): got {kernel!r}, wanted what @kernel made", code="WT508"
            )
        mutates = (mutates,) if isinstance(mutates, str) else tuple(mutates)
        self.kernel = kernel
        self._options = (dim, outputs, mutates, deterministic)
        self._compiled = kernel.specialise()
        self._dim = [] if dim is None else _expressions(dim, f"{who}(dim=...)")
        self._outputs = {
            k: _expressions(v, f"{who}(outputs[{k!r}]=...)") for k, v in (outputs or {}).items()
        }
        self.params = self.host(()).params
        by_name = {p["name"]: p for p in self.params}
        given = [p for p in self.params if p["role"] not in ("output", "sum")]
        names = tuple(p["name"] for p in given)
        # One argument a parameter of the kernel: a struct is given whole.
        self.arguments = tuple(dict.fromkeys(p["path"][0] for p in given))
        self._optional = {p["name"] for p in given if p["optional"] and len(p["path"]) == 1}
        self._fields = None
        if any(len(p["path"]) > 1 for p in given):
            place = {name: i for i, name in enumerate(self.arguments)}
            self._fields = [(place[p["path"][0]], p["path"]) for p in given]
        self.results = tuple(
            p["name"] for p in self.params if p["role"] in ("output", "sum", "state")
        )
        self._count = len(self.arguments)
        self._names = names
        self._numeric = tuple(i for i, n in enumerate(names) if by_name[n]["role"] in _NUMBERS)
        self._composite = {i: by_name[n] for i, n in enumerate(names) if by_name[n]["value"]}

    def host(self, tensors):
        """The core's description of the op in which the named numeric parameters are tensors."""
        kernel, *options = self.save_options()
        return _C.OpHost(kernel, *options[:3], list(tensors), options[-1])

    def save_options(self):
        """What _C makes the op of: the kernel, its range, shapes, what it changes, how it sums."""
        mutates = list(self._options[2])
        return self._compiled, self._dim, self._outputs, mutates, bool(self._options[3])

    def tensors_among(self, args):
        """Names of the numeric parameters that are given as tensors."""
        for i in self._numeric:
            if type(args[i]) not in _PLAIN_NUMBERS:
                break
        else:
            return ()
        return tuple(self._names[i] for i in self._numeric if isinstance(args[i], torch.Tensor))

    def ordered(self, args, kwargs):
        """Positional and keyword arguments as one list."""
        if len(args) > self._count:
            raise ArgumentValueError(
                f"{self.kernel.key}(): got {len(args)} arguments, wanted "
                f"{', '.join(self.arguments)}",
                code="WT801",
            )
        out = list(args)
        for name in self.arguments[len(args) :]:
            if name not in kwargs and name not in self._optional:
                raise ArgumentValueError(
                    f"{self.kernel.key}(): argument {name!r} is missing", code="WT801"
                )
            out.append(kwargs.get(name))
        for name in kwargs:
            if name not in self.arguments[len(args) :]:
                raise ArgumentValueError(
                    f"{self.kernel.key}(): unexpected argument {name!r}", code="WT801"
                )
        return out

    def with_fields(self, args):
        """Structs as their fields: of @struct values, dataclasses, other objects, or mappings."""
        out = []
        for place, path in self._fields:
            value = args[place]
            for field in path[1:]:
                try:
                    value = value[field] if isinstance(value, Mapping) else getattr(value, field)
                except (AttributeError, KeyError):
                    raise ArgumentTypeError(
                        f"{self.kernel.key}(): argument {path[0]!r} is {value!r}, which has no "
                        f"field {field!r}",
                        code="WT801",
                    ) from None
            out.append(value)
        return out

    def with_composites(self, args):
        """Vectors and matrices given as host values become tensors beside the others."""
        args = list(args)
        for i, p in self._composite.items():
            if isinstance(args[i], torch.Tensor):
                continue
            device = next((a.device for a in args if isinstance(a, torch.Tensor)), None)
            value = args[i].numpy() if isinstance(args[i], _types.Composite) else args[i]
            dtype = TORCH_DTYPES[p["scalar"]]
            args[i] = torch.as_tensor(value, dtype=dtype, device=device).reshape(p["components"])
        return args

    def __reduce__(self):
        dim, outputs, mutates, deterministic = self._options
        options = {"dim": dim, "outputs": outputs, "deterministic": deterministic}
        if mutates:
            options["mutates"] = mutates
        place = (self.kernel.__module__, self.kernel.__qualname__)
        return (_rebuild, (type(self), *place, options))


def _rebuild(make, module, name, options):
    """Unpickles: the kernel by its import path."""
    target = importlib.import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    return make(target, **options)
