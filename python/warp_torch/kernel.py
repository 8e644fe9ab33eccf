# SPDX-License-Identifier: Apache-2.0
# kernel.py: @kernel objects: their options, types and forms; launching.py launches them.
"""Kernels are compiled at their first use, for the types of their parameters."""

from __future__ import annotations

import functools
import inspect
import sys
import typing

import numpy as np
import torch

from warp_torch import _C, config, frontend, interop
from warp_torch import types as _types
from warp_torch.declarations import Declaration
from warp_torch.device import device_alias
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, KernelError
from warp_torch.modules import checked_options, get_module, get_module_of

__all__ = ["Kernel", "kernel", "overload"]

_declared = {}  # (module, qualified name) -> the Kernel declared last
USUAL_BLOCK = 256


class Kernel:
    """A @kernel. Not callable: hand it to ``launch`` or ``kernel_op``.

    Attributes: key (name), params (names of the parameters), options, module.
    """

    wt_kind = "kernel"
    _given = None  # functions that stand for parameters, by name

    def __init__(self, func=None, key=None, module=None, options=None, code_transformers=None):
        frontend.check_function(func, "kernel")
        self.pyfunc = self.func = func
        self.key = key or func.__qualname__.rsplit(".", 1)[-1]
        named = module is not None and module != "unique"
        self.module = get_module_of(module) if named else get_module(func.__module__)
        self.options = {
            **self.module.options,
            **checked_options(options or {}, f"kernel {self.key}"),
        }
        functools.update_wrapper(self, func)
        self.overloads = {}  # types of the generic parameters -> Kernel
        self._forget()
        # Functions of one name, in different places, are kernels of their own.
        before = self.module.kernels.get(self.key)
        other = before is not None and before.pyfunc.__qualname__ != func.__qualname__
        self.module.kernels[func.__qualname__ if other else self.key] = self
        _declared[(func.__module__, func.__qualname__)] = self
        try:
            self._compile()
        except KernelError as error:
            if not frontend.may_be_defined_later(func, error):
                raise

    def _forget(self):
        """Back to what is known before the source is read."""
        self._instances = {}
        self._ready = None  # of launching.py: what a launch without options runs
        self._written = None
        self._generic = [-1]  # not known yet
        self._functions = []  # parameters that take functions
        self._with_functions = {}  # functions given for them -> the kernel with these
        self._for_blocks = {}  # threads of a block -> the kernel compiled for as many

    @property
    def _block(self):
        block = self.options["block_dim"]
        return 0 if block in (None, USUAL_BLOCK) else block

    @property
    def _most_threads(self):
        bounds = self.options["launch_bounds"]
        return (bounds[0] if isinstance(bounds, (tuple, list)) else bounds) or USUAL_BLOCK

    def for_blocks(self, threads):
        """The kernel compiled for blocks of more threads than usual."""
        made = self._for_blocks.get(threads)
        if made is None:
            made = _Variant(self, options={"launch_bounds": threads})
            self._for_blocks[threads] = made
        return made

    def _compile(self):
        if self._written is None:
            unit = frontend.write_unit(
                self.pyfunc,
                name=self._entry_name(),
                options=self.options,
                functions=self._given,
            )
            self._generic = [i for i, p in enumerate(unit.params) if p.generic]
            self._functions = [i for i, p in enumerate(unit.params) if p.is_function]
            if not self._generic:
                self._instances[()] = self._compiled(unit, [])
            self._written = unit
        return self._written

    def _compiled(self, unit, generics):
        made = _C.Kernel(unit.text, unit.entry, generics)
        made.deterministic = bool(self.options["deterministic"])
        return made

    def _entry_name(self):
        return self.key if self.key.isidentifier() else None

    @property
    def _unit(self):
        return self._compile()

    @property
    def params(self):
        """Names of the parameters."""
        return tuple(p.name for p in self._unit.params)

    @functools.cached_property
    def adj(self):
        """The declaration: ``adj.args``, each with ``label`` and ``type``, and ``adj.source``."""
        return Declaration(self.pyfunc)

    @property
    def is_generic(self):
        """True if some parameter has no settled type."""
        return self._unit.generic

    @property
    def enable_backward(self):
        """Whether launches are recorded on tapes."""
        own = self.options["enable_backward"]
        return config.enable_backward if own is None else own

    def __call__(self, *args, **kwargs):
        raise ArgumentTypeError(
            f"kernel {self.key} is not called; use launch({self.key}, dim=..., "
            f"inputs=[...]) or kernel_op({self.key})",
            code="WT643",
        )

    def _instance(self, generics):
        """The compiled kernel for the types of the generic parameters."""
        made = self._instances.get(generics)
        if made is None:
            made = self._instances[generics] = self._compiled(self._unit, list(generics))
        return made

    def with_functions(self, args):
        """(kernel, arguments) with the functions among the arguments put in their places; each
        choice of functions is a kernel of its own."""
        self._compile()
        if not self._functions or len(args) != len(self.params):
            return self, args
        given = {self.params[i]: args[i] for i in self._functions}
        for name, f in given.items():
            if not frontend.is_callable_in_kernels(f):
                raise ArgumentTypeError(
                    f"launch of {self.key}, argument {name!r}: wanted a function declared with "
                    f"@func or a builtin, got {f!r}",
                    code="WT641",
                )
        key = tuple(frontend.function_key(f) for f in given.values())
        made = self._with_functions.get(key)
        if made is None:
            made = self._with_functions[key] = _Variant(self, functions=given)
        return made, [a for i, a in enumerate(args) if i not in self._functions]

    def add_overload(self, arg_types):
        """The kernel for settled types of its generic parameters: a list with one type a
        parameter, or ``{name: type}``. Launches of this kernel prefer it where it fits."""
        unit = self._unit
        if isinstance(arg_types, dict):
            unknown = set(arg_types) - set(self.params)
            if unknown:
                raise ArgumentValueError(
                    f"{self.key} has no parameter {sorted(unknown)[0]!r}", code="WT603"
                )
            types = [arg_types.get(p.name, p.type) for p in unit.params]
        else:
            types = list(arg_types)
        if len(types) != len(unit.params):
            raise ArgumentValueError(
                f"overload of {self.key}: got {len(types)} types, wanted {len(unit.params)}",
                code="WT644",
            )
        types = [_types.canonical(t) for t in types]
        for t, p in zip(types, unit.params, strict=True):
            if _types.is_generic(t):
                raise ArgumentTypeError(
                    f"overload of {self.key}: parameter {p.name!r} needs a settled type",
                    code="WT644",
                )
            if not p.generic and _types.type_text(t) != p.text:
                raise ArgumentTypeError(
                    f"overload of {self.key}: parameter {p.name!r} is a "
                    f"{_types.type_name(p.type)}, got {_types.type_name(t)}",
                    code="WT644",
                )
        generics = tuple(_types.type_text(types[i]) for i in self._generic)
        made = self.overloads.get(generics)
        if made is None:
            made = self.overloads[generics] = _OverloadOf(self, generics, types)
        return made

    def get_overload(self, arg_types):
        """The overload for these types; made if there is none."""
        return self.add_overload(arg_types)

    def specialise(self, args=None):
        """The compiled kernel; a generic one takes its types from the arguments."""
        self._compile()
        if not self._generic:
            return self._instances[()]
        if self._functions:
            if args is None:
                raise ArgumentTypeError(
                    f"kernel {self.key} takes functions: which ones, a launch says", code="WT644"
                )
            made, rest = self.with_functions(list(args))
            if made is not self:
                return made.specialise(rest)
        if args is None:
            if len(self.overloads) == 1:
                return next(iter(self.overloads.values())).specialise()
            raise ArgumentTypeError(
                f"kernel {self.key} is generic: its types come from arguments", code="WT644"
            )
        if len(args) != len(self.params):
            raise ArgumentValueError(
                f"launch of {self.key}: got {len(args)} arguments, wanted {len(self.params)} "
                f"({', '.join(self.params)})",
                code="WT501",
            )
        for made in self.overloads.values():
            if made.fits(args):
                return made.specialise()
        return self._instance(self.generic_types(args))

    def generic_types(self, args):
        """Types, as text, that the arguments give to the generic parameters."""
        return tuple(
            _types.type_text(type_of_argument(args[i], self._unit.params[i], self.key))
            for i in self._generic
        )

    def set_options(self, options):
        """Other options; what was compiled with the old ones is dropped."""
        self.options = self.options | checked_options(options, f"kernel {self.key}")
        overloads = [made._types for made in self.overloads.values()]
        self.overloads = {}
        self._forget()
        self._compile()
        for types in overloads:
            self.add_overload(types)

    def change_instances(self, change):
        """Replaces each compiled instance by the first of ``change(instance)``; returns all."""
        self._compile()
        made = {types: change(k) for types, k in self._instances.items()}
        self._instances = {types: m[0] for types, m in made.items()}
        self._ready = None
        return list(made.values())

    def load(self, device=None):
        """Compiles what has its types, for a device."""
        self._compile()
        for made in [self._instances.get(()), *(o.specialise() for o in self.overloads.values())]:
            if made is not None:
                made.load(device_alias(device))

    def source(self, kind="cpp", adjoint=False, wrt=None, arch="sm_90"):
        """Text of one form of the kernel.

        Args:
            kind: "ir", "cpp" (CPU), "cuda" or "ptx".
            adjoint: the adjoint instead of the forward form.
            wrt: names of the parameters that carry gradients; all that can if not given.
            arch: architecture of "ptx".
        """
        k = self.specialise()
        form = "adjoint" if adjoint else "forward"
        return k.source(kind, form, self.mask(wrt) if adjoint else [], arch)

    def adjoint_info(self, wrt=None):
        """What the gradient needs besides the arrays: a dict.

        ``tape_slots`` (value logs that the forward launch writes), ``history_slots`` (stores of
        loop history), ``augmented`` (the forward launch differs), ``reads_primal`` (one bool a
        parameter). The bytes that a tape took are in ``Tape.stats()``.
        """
        return self.specialise().adjoint_info(self.mask(wrt))

    def mask(self, wrt=None):
        """One bool a parameter: whether it carries a derivative."""
        info = self.specialise().params()
        if wrt is None:
            return [is_differentiable(p["type"]) for p in info]
        unknown = set(wrt) - set(self.params)
        if unknown:
            raise ArgumentValueError(
                f"{self.key} has no parameter {sorted(unknown)[0]!r}", code="WT603"
            )
        return [p["name"] in wrt for p in info]

    def __repr__(self):
        return f"<kernel {self.key}>"


class _OverloadOf(Kernel):
    """A generic kernel with its types settled."""

    def __init__(self, generic, generics, types):
        functools.update_wrapper(self, generic.pyfunc)
        self.pyfunc = self.func = generic.pyfunc
        self.key = generic.key
        self.module = generic.module
        self.options = generic.options
        self.overloads = {}
        self._forget()
        self._written = generic._unit
        self._generic = []
        self._types = types
        self._origin = generic
        self._instances = {(): generic._instance(generics)}

    def for_blocks(self, threads):
        return self._origin.for_blocks(threads).add_overload(self._types)

    @property
    def is_generic(self):
        return False

    def fits(self, args):
        """True if the launch arguments are of this overload's types."""
        return all(_is_of(a, t) for a, t in zip(args, self._types, strict=True))


class _Variant(Kernel):
    """A kernel with functions in the place of the parameters that take them, or other options."""

    def __init__(self, kernel, functions=None, options=None):
        functools.update_wrapper(self, kernel.pyfunc)
        self.pyfunc = self.func = kernel.pyfunc
        self.key = kernel.key
        self.module = kernel.module
        self.options = kernel.options | (options or {})
        self.overloads = {}
        self._given = kernel._given or functions
        self._forget()
        self._compile()


def _is_of(value, t):
    if isinstance(t, _types.ArrayType):
        if value is None:
            return True
        ndim, dtype = getattr(value, "ndim", None), getattr(value, "dtype", None)
        return (
            isinstance(value, _C.Array)
            and ndim == t.ndim
            and _types.is_type(dtype)
            and (_types.type_text(dtype) == _types.type_text(t.dtype))
        )
    if isinstance(value, t):
        return True
    if isinstance(value, bool):
        return False
    kind = getattr(t, "kind", "")
    return (isinstance(value, int) and kind in ("int", "float")) or (
        isinstance(value, float) and kind == "float"
    )


def is_differentiable(text):
    return any(f in text for f in ("f16", "f32", "f64"))


def type_of_argument(value, param, key):
    """The kernel type of an argument for a generic parameter."""
    if isinstance(value, _C.Array):
        return _types.ArrayType(value.dtype, value.ndim)
    if isinstance(value, bool):
        return _types.bool_
    if isinstance(value, int):
        return _types.int32
    if isinstance(value, float) and not isinstance(value, np.generic):
        return _types.float32
    if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0:
        return _types.canonical(value.dtype)
    if isinstance(value, torch.Tensor) and isinstance(param.type, _types.ArrayType):
        return _types.ArrayType(interop.dtype_from_torch(value.dtype), param.type.ndim)
    if _types.is_type(type(value)):
        return type(value)
    raise ArgumentTypeError(
        f"launch of {key}, argument {param.name!r}: cannot tell the kernel type of "
        f"a {type(value).__name__}",
        code="WT502",
    )


def kernel(
    f=None,
    *,
    enable_backward=None,
    module=None,
    source=None,
    name=None,
    module_options=None,
    **options,
):
    """Decorator: compiles a typed Python function into a kernel.

    Args:
        f: the function; every parameter has a type annotation.
        enable_backward: False keeps launches off tapes.
        module: accepted for code written for Warp; every kernel is a module of its own here.
        source: the function's text where Python cannot give it.
        name: what the kernel is called, if not as the function.
        module_options: options of a module, for this kernel alone.
        options: ``max_unroll``, ``launch_bounds`` and others, see ``get_module_options()``.

    Raises:
        KernelError: the function uses what kernels do not have, with file, line and caret.
    """
    options["enable_backward"] = enable_backward
    given = {**(module_options or {}), **{k: v for k, v in options.items() if v is not None}}

    def make(function):
        return Kernel(frontend.with_source(function, source), name, module, given)

    return make if f is None else make(f)


def overload(kernel, arg_types=None):
    """Settles the types of a generic kernel: ``overload(k, [type, ...])``, ``overload(k, {name:
    type})``, or a decorator of a function with the kernel's name and no body."""
    if isinstance(kernel, Kernel):
        if not kernel.is_generic:
            raise ArgumentTypeError(f"overload(): kernel {kernel.key} is not generic", code="WT644")
        return kernel.add_overload(arg_types or {})
    if not callable(kernel) or not hasattr(kernel, "__qualname__"):
        raise ArgumentTypeError(
            f"overload(): wanted a generic kernel, got {kernel!r}", code="WT644"
        )
    generic = _declared.get((kernel.__module__, kernel.__qualname__))
    if generic is None:
        raise ArgumentValueError(
            f"overload(): no kernel {kernel.__qualname__} is declared in {kernel.__module__}",
            code="WT644",
        )
    hints = typing.get_type_hints(kernel, localns=_frame_names())
    generic.add_overload([hints[n] for n in inspect.signature(kernel).parameters])
    return generic


def _frame_names():
    return dict(sys._getframe(2).f_locals)
