# SPDX-License-Identifier: Apache-2.0
# tape.py: Tape records launches and array operations and runs their gradients.
"""Reverse-mode differentiation of a sequence of launches."""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Mapping

import numpy as np
import torch

from warp_torch import _C, config, graphs, interop
from warp_torch import types as _types
from warp_torch.array import _wrap, array
from warp_torch.errors import ArgumentTypeError
from warp_torch.structs import StructBase

__all__ = ["Tape", "no_grad"]


class _Recording(threading.local):
    """The tapes of a thread that record now, the innermost last."""

    def __init__(self):
        self.tapes = []


_recording = _Recording()


def active_tape():
    """The innermost tape that records; None if there is none."""
    tapes = _recording.tapes
    return tapes[-1] if tapes else None


def note_launch(*launch):
    """Called by ``launch()``: (kernel, dim, inputs, outputs, device)."""
    tapes = _recording.tapes
    if tapes:
        tapes[-1].launches.append(launch)
        if config.check_grad:
            unchecked_in_capture(launch[0].key)


def unchecked_in_capture(name):
    """Whether a capture of CUDA is open, in which the host cannot look at gradients; says so."""
    if not (torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()):
        return False
    warnings.warn(
        f"config.check_grad: gradients of {name} are not compared in a captured CUDA graph; run it "
        "once outside of the capture",
        stacklevel=4,
    )
    return True


@contextlib.contextmanager
def paused():
    """No tape records inside."""
    tapes = _recording.tapes
    _recording.tapes = []
    for tape in reversed(tapes):
        tape.leave()
    try:
        yield
    finally:
        for tape in tapes:
            tape.enter()
        _recording.tapes = tapes


class no_grad:  # noqa: N801 - named as PyTorch's
    """``with no_grad():`` or ``@no_grad``: no tape records inside, and PyTorch neither.

    Launches take tensors that require a gradient there. What they write are constants to tapes; a
    backward that needs a value which was overwritten raises.
    """

    def __new__(cls, function=None):
        made = super().__new__(cls)
        made._contexts = []
        return made if function is None else made(function)

    def __call__(self, function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            with no_grad():
                return function(*args, **kwargs)

        return run

    def __enter__(self):
        context = contextlib.ExitStack()
        context.enter_context(paused())
        context.enter_context(torch.no_grad())
        self._contexts.append(context)
        return self

    def __exit__(self, *exc):
        self._contexts.pop().close()


def _gradients_of_fields(value):
    """A struct whose arrays are the gradients of those of ``value``."""
    out = type(value)()
    for name in value.fields:
        part = getattr(value, name)
        if isinstance(part, StructBase):
            setattr(out, name, _gradients_of_fields(part))
        elif isinstance(part, _C.Array):
            setattr(out, name, part.grad)
    return out


def _cotangents(grads):
    """``{array: cotangent}`` as pairs of arrays; a cotangent may be host data."""
    if grads is None:
        return []
    pairs = list(grads.items()) if isinstance(grads, Mapping) else [(grads, None)]
    for n, (a, g) in enumerate(pairs):
        if isinstance(a, _C.Array) and isinstance(g, (np.ndarray, list, tuple)):
            pairs[n] = a, array(g, dtype=a.dtype, device=a.device)
        elif not isinstance(a, _C.Array) or not isinstance(g, _C.Array):
            raise ArgumentTypeError("Tape.backward(grads=...): wanted {array: array}", code="WT650")
    return pairs


class _Gradients(Mapping):
    """``tape.gradients[a]``: the gradient of an array (or tensor) that the tape has seen."""

    def __init__(self, tape):
        self._tape = tape

    def _seen(self):
        return [
            _wrap(a, _types.from_text(a.dtype_text)) for a in self._tape.arrays() if a.requires_grad
        ]

    def __getitem__(self, key):
        if isinstance(key, _C.Array):
            return key.grad
        if isinstance(key, StructBase):
            return _gradients_of_fields(key)
        return interop.tensor_gradient(self._tape, key)

    def get(self, key, default=None):
        """The gradient, or ``default`` if there is none."""
        found = self[key]
        return default if found is None else found

    def __contains__(self, key):
        if not isinstance(key, _C.Array):
            return self[key] is not None
        return key.requires_grad and any(a.shares_memory(key) for a in self._tape.arrays())

    def __iter__(self):
        return iter(self._seen())

    def __len__(self):
        return len(self._seen())


class Tape(_C.Tape):
    """Records what happens inside ``with Tape() as tape:``.

    ``tape.backward(loss)`` then accumulates gradients into ``.grad`` of the arrays that require
    one. A tape belongs to the thread that records it.

    Attributes:
        scopes: ``(number of entries before it, name, metadata)`` of each begin of a scope, and
            with None for the name of each end.
        launches: ``(kernel, dim, inputs, outputs, device)`` of each launch, in order.
    """

    def __init__(self):
        super().__init__()
        self.scopes = []
        self.launches = []
        self.loss = None  # what backward() was last given

    def __enter__(self):
        if not graphs.deferred(self._start_again):
            self._start()
        return self

    def __exit__(self, *exc):
        if not graphs.deferred(self._stop):
            self._stop()

    def _start(self):
        self.enter()
        _recording.tapes.append(self)

    def _start_again(self):
        """How each run of a captured graph starts: the tape holds what that run does."""
        self._forget()
        self._start()

    def _stop(self):
        self.leave()
        _recording.tapes.remove(self)

    def _forget(self):
        self.forget()
        self.scopes = []
        self.launches = []

    @property
    def gradients(self):
        """Mapping from arrays and tensors to their gradients."""
        return _Gradients(self)

    def backward(self, loss=None, grads=None):
        """Runs the adjoints of everything recorded, last first.

        Args:
            loss: an array of one element; its gradient is set to one. With none, outputs that
                nothing later on the tape reads are seeded with ones, unless a gradient of one of
                them has been written by hand.
            grads: ``{array: cotangent}``, read and never changed.

        Raises:
            GradientError: an array whose values the gradient needs was changed off the tape.
        """
        if loss is not None and not isinstance(loss, _C.Array):
            raise ArgumentTypeError(
                f"Tape.backward(loss): got a {type(loss).__name__}, wanted an array of one element",
                code="WT323",
            )
        if graphs.deferred(self.backward, loss, grads):
            return
        self.loss = loss
        pairs = _cotangents(grads)
        leaves = interop.leaf_gradients(self)
        self.run_backward(loss, pairs)
        interop.deliver(leaves)

    def zero(self):
        """Zeroes the gradients of all arrays that the tape has seen."""
        if not graphs.deferred(self.zero_gradients):
            self.zero_gradients()

    def reset(self):
        """Forgets all that was recorded, and zeroes the gradients."""
        if graphs.deferred(self.reset):
            return
        self.zero_gradients()
        self._forget()

    def record_func(self, backward, arrays):
        """Adds ``backward()`` to be called in its place; ``arrays`` are what it writes."""
        if not graphs.deferred(self.record, backward, list(arrays)):
            self.record(backward, list(arrays))

    def record_launch(
        self, kernel, dim, max_blocks, inputs, outputs, device, block_dim=0, metadata=None
    ):
        """Adds the adjoint of a launch that has run elsewhere, such as in a graph."""
        from warp_torch.launching import launch

        given = [list(inputs), list(outputs)]
        self.launches.append((kernel, dim, *given, device))

        def adjoint():
            grads = [[getattr(a, "grad", None) for a in part] for part in given]
            launch(kernel, dim, *given, *grads, device=device, adjoint=True)

        self.record_func(adjoint, [a for a in outputs if isinstance(a, _C.Array)])

    def record_scope_begin(self, scope_name, metadata=None):
        """Names what is recorded from here to ``record_scope_end()``, for ``visualize``."""
        self.scopes.append((self.stats()["entries"], scope_name, metadata or {}))

    def record_scope_end(self, remove_scope_if_empty=True):
        """Ends the scope that was begun last."""
        entries = self.stats()["entries"]
        if remove_scope_if_empty and self.scopes and self.scopes[-1][0] == entries:
            self.scopes.pop()
        else:
            self.scopes.append((entries, None, None))

    def visualize(self, filename=None, **kwargs):
        """The entries as a graph in the language of Graphviz; written to ``filename`` if given."""
        lines = ["digraph tape {", "  node [shape=box];"]
        scopes = list(self.scopes)
        entries = self.describe().splitlines()
        for n, entry in enumerate([*entries, None]):
            while scopes and scopes[0][0] <= n:
                _, name, _ = scopes.pop(0)
                scope = f'subgraph "cluster{len(lines)}" {{ label="{name}";'
                lines.append("  }" if name is None else f"  {scope}")
            if entry is not None:
                text = entry.strip().replace('"', "'")
                lines.append(f'  n{n} [label="{text}"];')
        lines += [f"  n{n - 1} -> n{n};" for n in range(1, len(entries))]
        text = "\n".join([*lines, "}"]) + "\n"
        if filename is not None:
            with open(filename, "w") as f:
                f.write(text)
        return text
