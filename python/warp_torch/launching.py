# SPDX-License-Identifier: Apache-2.0
# launching.py: launch(), and launches that are kept to be repeated.
"""Launches of kernels, forward and adjoint."""

from __future__ import annotations

import inspect
import warnings

import numpy as np

from warp_torch import _C, config, graphs
from warp_torch import types as _types
from warp_torch.device import device_alias, get_device, stream_handle
from warp_torch.errors import ArgumentTypeError, ArgumentValueError
from warp_torch.kernel import USUAL_BLOCK as _USUAL_BLOCK
from warp_torch.tape import note_launch

__all__ = ["Launch", "launch"]

_MOST_THREADS = 1024  # of a block, on every GPU
_PACKED_ONCE = (_C.Array, bool, int, float, np.number, _types.Composite)


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
        gradients=None,
    ):
        self.gradients = gradients  # of an adjoint launch: (adj_inputs, adj_outputs)
        self.max_blocks = max_blocks
        self.block_dim = block_dim
        self.kernel = kernel
        self.dim = dim
        self.args = list(args)
        if device is None:
            device = next((a.device for a in args if isinstance(a, _C.Array)), None)
        self.device = get_device(device)
        self.stream = stream
        self.record_tape = record_tape
        self._packed = None  # once the arguments are packed

    def set_dim(self, dim):
        """Another launch range."""
        self.dim = dim
        self._packed = None

    def _index(self, param):
        if isinstance(param, int):
            return param
        try:
            return self.kernel.params.index(param)
        except ValueError:
            raise ArgumentValueError(
                f"{self.kernel.key} has no parameter {param!r}", code="WT603"
            ) from None

    def set_param_at_index(self, index, value):
        """Another argument, by position."""
        if not 0 <= index < len(self.args):
            raise ArgumentValueError(
                f"{self.kernel.key} has {len(self.args)} parameters, there is no index {index}",
                code="WT603",
            )
        self.args[index] = value
        self._packed = None

    def set_param_by_name(self, name, value):
        """Another argument, by name."""
        self.args[self._index(name)] = value
        self._packed = None

    set_param = set_param_by_name
    set_param_at_index_from_ctype = set_param_at_index
    set_param_by_name_from_ctype = set_param_by_name

    def set_params(self, values):
        """All arguments."""
        self.args = list(values)
        self._packed = None

    set_params_from_ctypes = set_params

    def launch(self, stream=None):
        """Runs it; on a tape it is recorded."""
        stream = stream or self.stream
        if _C.recording() or graphs.open_on_cpu or not self._pack():
            adj_inputs, adj_outputs = self.gradients or ((), ())
            launch(
                self.kernel,
                self.dim,
                self.args,
                adj_inputs=adj_inputs,
                adj_outputs=adj_outputs,
                adjoint=self.gradients is not None,
                device=self.device,
                stream=stream,
                record_tape=self.record_tape,
                max_blocks=self.max_blocks,
                block_dim=self.block_dim,
            )
            return
        self._packed.launch(None if stream is None else stream.cuda_stream, False)

    def _pack(self):
        """Packs the arguments, once; False if they have to be looked at in every launch."""
        if config.print_launches or self.gradients is not None:
            return False
        if self._packed is not None:
            return True
        for a in self.args:
            lent = isinstance(a, _C.Array) and a.lender is not None
            if lent or not isinstance(a, _PACKED_ONCE):
                return False
        kernel, block = _for_blocks(self.kernel, self.block_dim)
        if kernel._functions:
            return False
        name = device_alias(self.device)
        self._packed = _C.PackedLaunch(
            kernel.specialise(self.args),
            self.dim,
            self.args,
            name,
            name,
            block,
            self.max_blocks,
        )
        return True


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
        block_dim: threads of a block on a GPU, up to 1024; if not given, what suits the launch.

    Raises:
        ArgumentTypeError: an argument of the wrong dtype or kind.
        ArgumentValueError: a wrong number of arguments, dimensions, device, or a freed array.
    """
    if record_tape and not (adjoint or record_cmd or max_blocks or device or stream):
        if block_dim is None and _launched_here(kernel, dim, inputs, outputs):
            return
    _check(kernel, dim, inputs, outputs, device)
    if record_tape and not kernel.enable_backward:
        record_tape = False
        _warn_unrecorded(kernel, [*inputs, *outputs])
    if graphs.open_on_cpu and not record_cmd:
        return _launch_later(locals())
    if record_tape and not (adjoint or record_cmd):
        note_launch(kernel, dim, inputs, outputs, device)
    kernel, block = _for_blocks(kernel, block_dim)
    adj_pair, gradients = (adj_inputs, adj_outputs), (*adj_inputs, *adj_outputs)
    if kernel._functions and not record_cmd:
        kernel, inputs, gradients = _with_functions(kernel, [*inputs, *outputs], gradients)
        outputs = ()
    args, name = [*inputs, *outputs], _device_name(device, stream)
    if record_cmd:
        kept = (record_tape, max_blocks, block_dim, adj_pair if adjoint else None)
        return Launch(kernel, dim, args, name, stream, *kept)
    compiled = kernel.specialise(args)
    where = _place(name, stream, args)
    if adjoint:
        _C.launch_adjoint(compiled, dim, args, [_gradient_array(g) for g in gradients], *where)
    else:
        _C.launch(compiled, dim, args, *where, record_tape, block, max_blocks)


def _launched_here(kernel, dim, inputs, outputs):
    """A launch with no options on the device of its arrays, in little time; False if it is not for
    this way."""
    ready = getattr(kernel, "_ready", None)
    if ready is None:
        if getattr(kernel, "wt_kind", None) != "kernel":
            return False
        ready = kernel._ready = _ready(kernel)
    compiled, block, backward = ready
    if compiled is None or graphs.open_on_cpu or config.print_launches:
        return False
    if not (config.enable_backward if backward is None else backward):
        return False
    if not _C.launch_here(compiled, dim, inputs, outputs, True, block):
        return False
    note_launch(kernel, dim, inputs, outputs, None)
    return True


def _ready(kernel):
    """(compiled kernel, threads of a block, enable_backward); None for what is not settled."""
    kernel._compile()
    if kernel._generic or kernel._functions:
        return None, 0, None
    chosen, block = _for_blocks(kernel, None)
    return chosen._instances[()], block, kernel.options["enable_backward"]


def _check(kernel, dim, inputs, outputs, device):
    """Raises if it is no kernel; prints the launch if config says so."""
    if getattr(kernel, "wt_kind", None) != "kernel":
        what = f"the function {kernel.__name__}" if inspect.isfunction(kernel) else repr(kernel)
        raise ArgumentTypeError(f"launch(): got {what}, wanted what @kernel made", code="WT508")
    if config.print_launches:
        where = "the device of its arrays" if device is None else device
        args = ", ".join(repr(a) for a in (*inputs, *outputs))
        print(f"launch of {kernel.key}, module {kernel.module.name}, dim {dim}, on {where}: {args}")


def _for_blocks(kernel, block_dim):
    """The kernel compiled for such blocks, and their size; 0 leaves it to the device."""
    block = kernel._block if block_dim is None else block_dim
    if not isinstance(block, (int, np.integer)) or not 0 <= block <= _MOST_THREADS:
        raise ArgumentValueError(
            f"launch of {kernel.key}: block_dim is {block!r}, wanted 1 to {_MOST_THREADS} threads",
            code="WT719",
        )
    if block == 0 and kernel._most_threads < _USUAL_BLOCK:
        block = kernel._most_threads
    return (kernel.for_blocks(block) if block > kernel._most_threads else kernel), block


def _with_functions(kernel, args, gradients):
    """The kernel that has the functions among the arguments, the other arguments and their
    gradients."""
    kept = [i for i in range(len(args)) if i not in kernel._functions]
    made, rest = kernel.with_functions(args)
    return made, rest, [gradients[i] for i in kept if i < len(gradients)]


def _launch_later(given):
    """Keeps the arguments of a launch for a graph of the CPU."""
    names = list(given)
    graphs.deferred(lambda *values: launch(**dict(zip(names, values))), *given.values())


def _gradient_array(value):
    """An entry of adj_inputs or adj_outputs; arguments that are no arrays have no gradient here."""
    return None if isinstance(value, (int, float, np.number, _types.Composite)) else value


def _handle(stream, name):
    """The stream for _C; None for PyTorch's current one."""
    if stream is not None:
        return stream.cuda_stream
    return None if name is None else stream_handle(None, name)


def _place(name, stream, args):
    """The device that was asked for, the one where no argument has one, and the stream."""
    default = name or (None if _has_array(args) else device_alias(None))
    return name, default or "cpu", _handle(stream, name or default)


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
