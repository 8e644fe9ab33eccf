# SPDX-License-Identifier: Apache-2.0
# host_call.py: builtins called from Python: wp.normalize(wp.vec3(...)) outside of kernels.
"""Single values go through the kernel compiler's interpreter, or through a small kernel that is
compiled once where the interpreter lacks a builtin."""

from __future__ import annotations

import functools
import re

import numpy as np

from warp_torch import _C, frontend, structs, values
from warp_torch import basic_types as bt
from warp_torch import types as _types
from warp_torch.errors import ArgumentTypeError, KernelError
from warp_torch.expression_writer import quoted

__all__ = ["grad"]

# What only a thread of a kernel can do.
_IN_KERNELS = frozenset(
    "tid block_dim range reversed enumerate zip grad adjoint static loop_bound breakpoint "
    "print printf zeros empty len type sum".split()
)
# Integers among these arguments size the result, so they are part of the function.
_SIZING = frozenset("identity vector matrix".split())
_functions = {}  # (name, kinds of the arguments) -> HostFunction
_kernels = {}  # the same -> compiled kernel, where the interpreter does not do


def call_builtin(name, args, kwargs):
    """The value of the builtin for host values.

    Raises:
        ArgumentTypeError: the builtin does not take these, or has a meaning in kernels only.
    """
    if name in _IN_KERNELS or name.startswith(("atomic_", "tile")):
        raise ArgumentTypeError(
            f"{name}() has a meaning in kernels only: call it in a @kernel", code="WT640"
        )
    given = [(None, v) for v in args] + list(kwargs.items())
    slots = [_Slot(name, key, value) for key, value in given]
    _settle(slots)
    try:
        return _run(name, slots)
    except KernelError as error:
        # Whole numbers may also be int32 whatever stands beside them, or be meant as floats.
        whole = [s for s in slots if s.weak and isinstance(s.value, int)]
        for other in (bt.int32, _common_float(slots) or bt.float32) if whole else ():
            for s in whole:
                s.type = other
            try:
                return _run(name, slots)
            except KernelError:
                pass
        raise ArgumentTypeError(
            f"{name}(): {error.message}", hint=error.hint, code="WT637"
        ) from None


class _Slot:
    """One argument: part of the function's text, or a value of a type."""

    def __init__(self, name, key, value):
        self.key = key
        self.weak = False
        self.type = None
        self.literal = None
        self.value = value
        if isinstance(value, type) and bt.is_type(value) or isinstance(value, bt._Generic):
            self.literal = f"(type {quoted(bt.type_text(value))})"
        elif name in _SIZING and _sizes(name, key, value):
            self.literal = (
                f"(tuple {' '.join(f'(int {n})' for n in value)})"
                if isinstance(value, tuple)
                else f"(int {value})"
            )
        elif isinstance(value, (bool, np.bool_)):
            self.type = bt.bool_
        elif isinstance(value, (int, float)) and not isinstance(value, np.generic):
            self.type = bt.int32 if isinstance(value, int) else bt.float32
            if isinstance(value, int) and not -(2**31) <= value < 2**31:
                self.type = bt.int64
            self.weak = True
        elif isinstance(value, np.generic):
            self.type = bt.canonical(value.dtype)
        elif isinstance(value, (bt.scalar, values.Composite, structs.StructBase)):
            self.type = type(value)
        else:
            raise ArgumentTypeError(
                f"{name}(): got a {type(value).__name__}; on the host it takes numbers and values "
                "of kernel types, such as wp.vec3(...)",
                code="WT637",
            )

    @property
    def kind(self):
        return self.key, self.literal or bt.type_text(self.type)

    def data(self):
        """The value in C layout."""
        if isinstance(self.value, structs.StructBase):
            return structs.struct_bytes(self.value)
        value = self.value
        if isinstance(value, values.Composite):
            data = value.numpy()
        else:
            number = value.value if isinstance(value, bt.scalar) else value
            data = np.asarray(self.type(number).value)
        scalar = getattr(self.type, "dtype", None) or self.type
        if scalar is bt.bfloat16:
            return (data.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
        return data.astype(scalar.np_dtype).tobytes()


def _sizes(name, key, value):
    """True if the argument says how large the result is."""
    if isinstance(value, tuple):
        return key == "shape" and all(isinstance(n, int) for n in value)
    named = key in ("n", "shape", "length") or (name == "identity" and key is None)
    return named and isinstance(value, int) and not isinstance(value, bool)


def _scalar_of(t):
    return getattr(t, "dtype", None) or t


def _common_float(slots):
    """The float type that the typed arguments have, if any."""
    for s in slots:
        if s.type is not None and not s.weak and getattr(_scalar_of(s.type), "kind", "") == "float":
            return _scalar_of(s.type)
    return None


def _settle(slots):
    """Python numbers take the type of the arguments beside them."""
    common = _common_float(slots)
    ints = [
        _scalar_of(s.type)
        for s in slots
        if s.type is not None and not s.weak and getattr(_scalar_of(s.type), "kind", "") == "int"
    ]
    any_float = any(s.type is bt.float32 and s.weak for s in slots)
    for s in slots:
        if s.weak and s.type is bt.float32 and common is not None:
            s.type = common
        elif s.weak and s.type is bt.int32 and (common is not None or any_float):
            s.type = common or bt.float32
        elif s.weak and s.type is bt.int32 and ints:
            s.type = ints[0]


def grad(f):
    """The gradient of a @func: a function of the same arguments that returns the derivative of the
    result (of the sum of the results) by each float parameter. Usable in kernels too, where it
    can be differentiated in turn."""
    if getattr(f, "wt_kind", "") != "func":
        raise ArgumentTypeError(
            f"grad(): wanted a function declared with @func, got {f!r}", code="WT641"
        )

    def gradient(*args):
        slots = [_Slot("grad", None, a) for a in args]
        _settle(slots)
        hints = [f.pyfunc.__annotations__.get(n) for n in f.pyfunc.__code__.co_varnames]
        for s, hint in zip(slots, hints, strict=False):
            if s.weak and bt.is_type(hint) and not bt.is_generic(hint):
                s.type = bt.canonical(hint)
        key = (f, tuple(s.kind for s in slots))
        if key not in _functions:
            text = frontend.function_of_gradient(f, [s.type for s in slots], "host_gradient")
            _functions[key] = _C.HostFunction(text, "host_gradient")
        return _value_of(key, slots)

    return gradient


def _run(name, slots):
    key = (name, tuple(s.kind for s in slots))
    if key not in _functions:
        _functions[key] = _C.HostFunction(_text(name, slots), f"host_{name}")
    value = _value_of(key, slots)
    if not _written(name, len(slots)):
        return value
    return _write_back(name, slots, value)


@functools.cache
def _written(name, count):
    """Which arguments are written by a builtin that returns nothing: svd3(A, U, sigma, V)."""
    for row in _C.builtin_rows():
        params = row["sig"].partition(" -> ")[0]
        found = [" inout " in p for p in re.sub("<[^>]*>", "", " " + params).split(",")]
        if row["name"] == name and row["sig"].endswith("-> ()") and len(found) == count:
            return [i for i, yes in enumerate(found) if yes]
    return []


def _write_back(name, slots, results):
    written = [slots[i] for i in _written(name, len(slots))]
    for s, r in zip(written, results if len(written) > 1 else [results], strict=True):
        if not isinstance(s.value, values.Composite):
            raise ArgumentTypeError(
                f"{name}(): a {type(s.value).__name__} cannot be written on the host",
                hint=f"use the form of {name}() that returns its results",
                code="WT640",
            )
        s.value._data[...] = r._data


def _value_of(key, slots):
    function = _functions[key]
    data = [s.data() for s in slots if s.literal is None]
    if key not in _kernels:
        out = function.interpret(data)
        if out is not None:
            return _results(out, function.results)
        _kernels[key] = function.compiled()
    return _launched(_kernels[key], function.results, slots)


def _text(name, slots):
    params, args = [], []
    for i, s in enumerate(slots):
        text = s.literal
        if text is None:
            params.append(f"(param a{i} {quoted(bt.type_text(s.type))})")
            text = f"(name a{i})"
        args.append(text if s.key is None else f"(kw {s.key} {text})")
    found = {}
    for s in slots:
        _note_struct(s.type, found)
    head = "".join(found.values())
    body = f"(call (builtin {quoted(name)}) {' '.join(args)})"
    written = [f"(name a{i})" for i in _written(name, len(slots))]
    statement = f"(return {body})"
    if name.startswith("expect_") or written:
        statement = f"(expr {body})"
    if written:
        after = written[0] if len(written) == 1 else f"(tuple {' '.join(written)})"
        statement = f"{statement} (return {after})"
    return f'(unit {head}(func host_{name} "<host>" {" ".join(params)} (do {statement})))'


def _note_struct(t, found):
    if getattr(t, "wt_kind", "") != "struct" or t.struct_name in found:
        return
    for f in t.fields.values():
        _note_struct(f, found)
    fields = "".join(f"(field {n} {quoted(bt.type_text(f))})" for n, f in t.fields.items())
    found[t.struct_name] = f"(struct {t.struct_name} {fields})"


def _launched(kernel, results, slots):
    from warp_torch.array_making import zeros

    out = [zeros(1, dtype=_types.from_text(t), device="cpu") for t in results]
    args = [s.value if not s.weak else s.type(s.value) for s in slots if s.literal is None]
    _C.launch(kernel, 1, [*args, *out], "cpu", "cpu", None, False)
    return _results([a.numpy().tobytes() for a in out], results)


def _results(data, types):
    out = [_value(d, _types.from_text(t)) for d, t in zip(data, types, strict=True)]
    return (out[0] if len(out) == 1 else tuple(out)) if out else None


def _value(data, t):
    scalar = _scalar_of(t)
    flat = np.frombuffer(data, dtype=scalar.np_dtype)
    if scalar is bt.bfloat16:
        flat = bt.bfloat16_values(flat)
    if t is not scalar:
        return t._wrap(flat.reshape(t.shape))
    return host_number(flat[0].item(), t)


def host_number(x, t):
    """A number of type ``t`` as the host has it: Python's own for float32, int32 and bool."""
    return x if t in (bt.float32, bt.int32, bt.bool_) else t(x)
