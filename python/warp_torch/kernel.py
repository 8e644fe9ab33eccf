# SPDX-License-Identifier: Apache-2.0
# kernel.py: @kernel and @func objects, and launch().
"""Kernels are compiled at their first use, for the types of their parameters."""

from __future__ import annotations

import functools

from warp_torch import _C, frontend
from warp_torch import types as _types
from warp_torch.device import device_alias, get_device, stream_handle
from warp_torch.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["Function", "Kernel", "Launch", "func", "kernel", "launch"]


class Function:
    """A @func: callable from kernels, and on the host as the Python function that it is."""

    wt_kind = "func"

    def __init__(self, function, name=None):
        self.pyfunc = function
        self.key = name or function.__qualname__.rsplit(".", 1)[-1]
        self.attrs = {}
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        return self.pyfunc(*args, **kwargs)

    def __repr__(self):
        return f"<func {self.key}>"


class Kernel:
    """A @kernel. Not callable: hand it to ``launch`` or ``kernel_op``.

    Attributes: key (name), params (names of the parameters), options.
    """

    wt_kind = "kernel"

    def __init__(self, function, name=None, options=None):
        self.pyfunc = function
        self.key = name or function.__qualname__.rsplit(".", 1)[-1]
        self.options = dict(options or {})
        functools.update_wrapper(self, function)
        self._unit = frontend.write_unit(function, options=self.options)
        self.params = tuple(p.name for p in self._unit.params)
        self._generic = [i for i, p in enumerate(self._unit.params) if p.generic]
        self._instances = {}
        if not self._generic:
            self._instance(())

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

    def specialise(self, args=None):
        """The compiled kernel; a generic one takes its types from the arguments."""
        if not self._generic:
            return self._instances[()]
        if args is None:
            raise ArgumentTypeError(f"kernel {self.key} is generic: its types come from arguments")
        return self._instance(
            tuple(
                _types.type_text(_type_of(args[i], self.params[i], self.key)) for i in self._generic
            )
        )

    def change_instances(self, change):
        """Replaces each compiled instance by the first of ``change(instance)``; returns all."""
        made = {types: change(k) for types, k in self._instances.items()}
        self._instances = {types: m[0] for types, m in made.items()}
        return list(made.values())

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
            return [_is_differentiable(p["type"]) for p in info]
        unknown = set(wrt) - set(self.params)
        if unknown:
            raise ArgumentValueError(f"{self.key} has no parameter {sorted(unknown)[0]!r}")
        return [p["name"] in wrt for p in info]

    def __repr__(self):
        return f"<kernel {self.key}>"


def _is_differentiable(text):
    return any(f in text for f in ("f16", "f32", "f64"))


def _type_of(value, name, key):
    """The kernel type of an argument for a generic parameter."""
    if isinstance(value, _C.Array):
        return _types.ArrayType(value.dtype, value.ndim)
    if isinstance(value, bool):
        return _types.bool_
    if isinstance(value, int):
        return _types.int32
    if isinstance(value, float):
        return _types.float32
    if _types.is_type(type(value)):
        return type(value)
    raise ArgumentTypeError(
        f"launch of {key}, argument {name!r}: cannot tell the kernel type of "
        f"a {type(value).__name__}"
    )


def kernel(f=None, *, enable_backward=True, module=None, source=None, name=None, **options):
    """Decorator: compiles a typed Python function into a kernel.

    Args:
        f: the function; every parameter has a type annotation.
        module: accepted for code written for Warp; every kernel is a module of its own here.
        source: the function's text where Python cannot give it.

    Raises:
        KernelError: the function uses what kernels do not have, with file, line and caret.
    """

    def make(function):
        function = _from_text(function, source)
        return Kernel(function, name=name, options=dict(options, enable_backward=enable_backward))

    return make if f is None else make(f)


def func(f=None, *, module=None, source=None, name=None):
    """Decorator: a function that kernels can call. Annotations are optional."""

    def make(function):
        return Function(_from_text(function, source), name=name)

    return make if f is None else make(f)


def _from_text(function, source):
    """The function itself, or the one that ``source`` defines where Python has no text for it."""
    if source is None:
        return function
    return frontend.function_from_source(source, dict(function.__globals__), function.__name__)


class Launch:
    """A launch with its arguments, to be repeated: ``cmd.launch()``."""

    def __init__(self, kernel, dim, args, device, stream=None, record_tape=True):
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
        self.args[index] = value

    def set_param_by_name(self, name, value):
        """Another argument, by name."""
        self.args[self._index(name)] = value

    set_param = set_param_by_name

    def set_params(self, values):
        """All arguments."""
        self.args = list(values)

    def launch(self, stream=None):
        """Runs it; on a tape it is recorded."""
        launch(
            self.kernel,
            self.dim,
            self.args,
            device=self.device,
            stream=stream or self.stream,
            record_tape=self.record_tape,
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
    block_dim=256,
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
        max_blocks: has no effect; grids follow from what the GPU can hold.
        block_dim: threads of a block on a GPU; 256, the default, leaves the choice to us.

    Raises:
        ArgumentTypeError: an argument of the wrong dtype or kind.
        ArgumentValueError: a wrong number of arguments, dimensions, device, or a freed array.
    """
    if getattr(kernel, "wt_kind", None) != "kernel":
        raise ArgumentTypeError(f"launch(): got {kernel!r}, wanted what @kernel made")
    block = 0 if block_dim == 256 else block_dim
    if device is None and stream is None and not (adjoint or record_cmd or kernel._generic):
        if _C.launch_here(kernel._instances[()], dim, inputs, outputs, record_tape, block):
            return None
    args = [*inputs, *outputs]
    name = _device_name(device, stream)
    if record_cmd:
        return Launch(kernel, dim, args, name, stream, record_tape)
    compiled = kernel.specialise(args)
    default = name or (None if _has_array(args) else device_alias(None))
    handle = None
    if stream is not None:
        handle = stream.cuda_stream
    elif name is not None or default is not None:
        handle = stream_handle(None, name or default)
    if adjoint:
        grads = [*adj_inputs, *adj_outputs]
        _C.launch_adjoint(compiled, dim, args, grads, name, default or "cpu", handle)
        return None
    _C.launch(compiled, dim, args, name, default or "cpu", handle, record_tape, block)
    return None


def _device_name(device, stream):
    """The device that was asked for; None if the arguments decide."""
    if device is None:
        return stream.device.alias if stream is not None else None
    name = device_alias(device)
    get_device(name)
    return name


def _has_array(args):
    return any(isinstance(a, _C.Array) or hasattr(a, "__dlpack__") for a in args)
