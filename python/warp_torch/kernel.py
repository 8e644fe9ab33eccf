# SPDX-License-Identifier: Apache-2.0
# kernel.py: @kernel and @func objects, and launch().
"""Kernels are compiled at their first use, for the types of their parameters."""

from __future__ import annotations

import functools
import inspect
import sys
import typing
import warnings

import numpy as np
import torch

from warp_torch import _C, config, frontend, graphs, interop
from warp_torch import types as _types
from warp_torch.device import device_alias, get_device, stream_handle
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, KernelError
from warp_torch.modules import checked_options, get_module, get_module_of
from warp_torch.tape import note_launch

__all__ = ["Kernel", "Launch", "kernel", "launch", "overload"]

_declared = {}  # (module, qualified name) -> the Kernel declared last
_USUAL_BLOCK = 256


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
        self.module.kernels[self.key] = self
        _declared[(func.__module__, func.__qualname__)] = self
        try:
            self._compile()
        except KernelError as error:
            if not frontend.may_be_defined_later(func, error):
                raise

    def _forget(self):
        """Back to what is known before the source is read."""
        self._instances = {}
        self._written = None
        self._generic = [-1]  # not known yet
        self._functions = []  # parameters that take functions
        self._with_functions = {}  # functions given for them -> the kernel with these
        self._for_blocks = {}  # threads of a block -> the kernel compiled for as many

    @property
    def _block(self):
        block = self.options["block_dim"]
        return 0 if block in (None, _USUAL_BLOCK) else block

    @property
    def _most_threads(self):
        bounds = self.options["launch_bounds"]
        return (bounds[0] if isinstance(bounds, (tuple, list)) else bounds) or _USUAL_BLOCK

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
                self._instances[()] = _C.Kernel(unit.text, unit.entry, [])
            self._written = unit
        return self._written

    def _entry_name(self):
        return self.key if self.key.isidentifier() else None

    @property
    def _unit(self):
        return self._compile()

    @property
    def params(self):
        """Names of the parameters."""
        return tuple(p.name for p in self._unit.params)

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
            f"inputs=[...]) or kernel_op({self.key})"
        )

    def _instance(self, generics):
        """The compiled kernel for the types of the generic parameters."""
        made = self._instances.get(generics)
        if made is None:
            made = _C.Kernel(self._unit.text, self._unit.entry, list(generics))
            self._instances[generics] = made
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
                    f"@func or a builtin, got {f!r}"
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
                raise ArgumentValueError(f"{self.key} has no parameter {sorted(unknown)[0]!r}")
            types = [arg_types.get(p.name, p.type) for p in unit.params]
        else:
            types = list(arg_types)
        if len(types) != len(unit.params):
            raise ArgumentValueError(
                f"overload of {self.key}: got {len(types)} types, wanted {len(unit.params)}"
            )
        types = [_types.canonical(t) for t in types]
        for t, p in zip(types, unit.params, strict=True):
            if _types.is_generic(t):
                raise ArgumentTypeError(
                    f"overload of {self.key}: parameter {p.name!r} needs a settled type"
                )
            if not p.generic and _types.type_text(t) != p.text:
                raise ArgumentTypeError(
                    f"overload of {self.key}: parameter {p.name!r} is a "
                    f"{_types.type_name(p.type)}, got {_types.type_name(t)}"
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
                    f"kernel {self.key} takes functions: which ones, a launch says"
                )
            made, rest = self.with_functions(list(args))
            if made is not self:
                return made.specialise(rest)
        if args is None:
            if len(self.overloads) == 1:
                return next(iter(self.overloads.values())).specialise()
            raise ArgumentTypeError(f"kernel {self.key} is generic: its types come from arguments")
        if len(args) != len(self.params):
            raise ArgumentValueError(
                f"launch of {self.key}: got {len(args)} arguments, wanted {len(self.params)} "
                f"({', '.join(self.params)})",
                code="WT501",
            )
        for made in self.overloads.values():
            if made.fits(args):
                return made.specialise()
        return self._instance(
            tuple(
                _types.type_text(type_of_argument(args[i], self._unit.params[i], self.key))
                for i in self._generic
            )
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
            raise ArgumentValueError(f"{self.key} has no parameter {sorted(unknown)[0]!r}")
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
            raise ArgumentTypeError(f"overload(): kernel {kernel.key} is not generic")
        return kernel.add_overload(arg_types or {})
    if not callable(kernel) or not hasattr(kernel, "__qualname__"):
        raise ArgumentTypeError(f"overload(): wanted a generic kernel, got {kernel!r}")
    generic = _declared.get((kernel.__module__, kernel.__qualname__))
    if generic is None:
        raise ArgumentValueError(
            f"overload(): no kernel {kernel.__qualname__} is declared in {kernel.__module__}"
        )
    hints = typing.get_type_hints(kernel, localns=_frame_names())
    generic.add_overload([hints[n] for n in inspect.signature(kernel).parameters])
    return generic


def _frame_names():
    return dict(sys._getframe(2).f_locals)


class Launch:
    """A launch with its arguments, to be repeated: ``cmd.launch()``."""

    def __init__(
        self,
        kernel,
        dim,
        args,
        device,
        stream=None,
        record_tape=True,
        max_blocks=0,
        block_dim=None,
    ):
        self.max_blocks = max_blocks
        self.block_dim = block_dim
        self.kernel = kernel
        self.dim = dim
        self.args = list(args)
        self.device = device
        self.stream = stream
        self.record_tape = record_tape

    def set_dim(self, dim):
        """Another launch range."""
        self.dim = dim

    def _index(self, param):
        if isinstance(param, int):
            return param
        try:
            return self.kernel.params.index(param)
        except ValueError:
            raise ArgumentValueError(f"{self.kernel.key} has no parameter {param!r}") from None

    def set_param_at_index(self, index, value):
        """Another argument, by position."""
        if not 0 <= index < len(self.args):
            raise ArgumentValueError(
                f"{self.kernel.key} has {len(self.args)} parameters, there is no index {index}"
            )
        self.args[index] = value

    def set_param_by_name(self, name, value):
        """Another argument, by name."""
        self.args[self._index(name)] = value

    set_param = set_param_by_name
    set_param_at_index_from_ctype = set_param_at_index
    set_param_by_name_from_ctype = set_param_by_name

    def set_params(self, values):
        """All arguments."""
        self.args = list(values)

    set_params_from_ctypes = set_params

    def launch(self, stream=None):
        """Runs it; on a tape it is recorded."""
        launch(
            self.kernel,
            self.dim,
            self.args,
            device=self.device,
            stream=stream or self.stream,
            record_tape=self.record_tape,
            max_blocks=self.max_blocks,
            block_dim=self.block_dim,
        )


def launch(
    kernel,
    dim,
    inputs=(),
    outputs=(),
    adj_inputs=(),
    adj_outputs=(),
    device=None,
    stream=None,
    adjoint=False,
    record_tape=True,
    record_cmd=False,
    max_blocks=0,
    block_dim=None,
):
    """Runs a kernel over a range of threads.

    Args:
        kernel: what @kernel made.
        dim: number of threads, or a tuple of 1 to 4.
        inputs, outputs: the arguments in order; they may be split between the two as one likes.
        adj_inputs, adj_outputs: with ``adjoint=True``, the gradient arrays; None for none.
        device: where to run; that of the array arguments if not given.
        stream: a Stream; PyTorch's current one if not given.
        record_tape: False keeps the launch off the tape.
        record_cmd: returns a Launch instead of running.
        max_blocks: most blocks of the grid on a GPU; 0 for as many as it can hold.
        block_dim: threads of a block on a GPU, up to 1024. If not given, the kernel's option, or
            else what suits the launch: 256 where the kernel can tell.

    Raises:
        ArgumentTypeError: an argument of the wrong dtype or kind.
        ArgumentValueError: a wrong number of arguments, dimensions, device, or a freed array.
    """
    if getattr(kernel, "wt_kind", None) != "kernel":
        what = f"the function {kernel.__name__}" if inspect.isfunction(kernel) else repr(kernel)
        raise ArgumentTypeError(f"launch(): got {what}, wanted what @kernel made", code="WT508")
    if record_tape and not kernel.enable_backward:
        record_tape = False
        _warn_unrecorded(kernel, [*inputs, *outputs])
    if graphs.open_on_cpu and not record_cmd:
        return _launch_later(locals())
    if record_tape and not (adjoint or record_cmd):
        note_launch(kernel, dim, inputs, outputs, device)
    block = kernel._block if block_dim is None else block_dim
    if block > kernel._most_threads:
        kernel = kernel.for_blocks(block)
    if kernel._functions and not record_cmd:
        if adjoint:
            kept = [i for i in range(len(kernel.params)) if i not in kernel._functions]
            grads = [*adj_inputs, *adj_outputs]
            adj_inputs, adj_outputs = [grads[i] for i in kept if i < len(grads)], ()
        kernel, inputs = kernel.with_functions([*inputs, *outputs])
        outputs = ()
    plain = device is None and stream is None and not max_blocks
    if plain and not (adjoint or record_cmd or kernel._generic):
        if _C.launch_here(kernel._instances[()], dim, inputs, outputs, record_tape, block):
            return None
    args = [*inputs, *outputs]
    name = _device_name(device, stream)
    if record_cmd:
        return Launch(kernel, dim, args, name, stream, record_tape, max_blocks, block_dim)
    compiled = kernel.specialise(args)
    default = name or (None if _has_array(args) else device_alias(None))
    handle = _handle(stream, name or default)
    if adjoint:
        grads = [*adj_inputs, *adj_outputs]
        _C.launch_adjoint(compiled, dim, args, grads, name, default or "cpu", handle)
        return None
    _C.launch(compiled, dim, args, name, default or "cpu", handle, record_tape, block, max_blocks)
    return None


def _launch_later(given):
    """Keeps the arguments of a launch for a graph of the CPU."""
    names = list(given)
    graphs.deferred(lambda *values: launch(**dict(zip(names, values))), *given.values())


def _handle(stream, name):
    """The stream for _C; None for PyTorch's current one."""
    if stream is not None:
        return stream.cuda_stream
    return None if name is None else stream_handle(None, name)


def _device_name(device, stream):
    """The device that was asked for; None if the arguments decide."""
    if device is None:
        return stream.device.alias if stream is not None else None
    name = device_alias(device)
    get_device(name)
    return name


def _warn_unrecorded(kernel, args):
    """Says once a kernel that a tape misses it."""
    if _C.recording() and any(isinstance(a, _C.Array) and a.requires_grad for a in args):
        if not kernel.__dict__.setdefault("_warned", False):
            kernel._warned = True
            warnings.warn(
                f"kernel {kernel.key} has enable_backward=False: this tape passes no gradient "
                "through its launches",
                stacklevel=3,
            )


def _has_array(args):
    return any(isinstance(a, _C.Array) or hasattr(a, "__dlpack__") for a in args)
