# SPDX-License-Identifier: Apache-2.0
# tape.py: Tape records launches and array operations and runs their gradients.
"""Reverse-mode differentiation of a sequence of launches."""

from __future__ import annotations

from warp_torch import _C, interop
from warp_torch.errors import ArgumentTypeError

__all__ = ["Tape"]


class _Gradients:
    """``tape.gradients[a]``: the gradient of an array (or tensor) that the tape has seen."""

    def __init__(self, tape):
        self._tape = tape

    def __getitem__(self, key):
        if isinstance(key, _C.Array):
            return key.grad
        return interop.tensor_gradient(self._tape, key)


class Tape(_C.Tape):
    """Records what happens inside ``with Tape() as tape:``.

    ``tape.backward(loss)`` then accumulates gradients into ``.grad`` of the arrays that require
    one. A tape belongs to the thread that records it.
    """

    def __enter__(self):
        self.enter()
        return self

    def __exit__(self, *exc):
        self.leave()

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
                f"Tape.backward(loss): got a {type(loss).__name__}, wanted an array of one element"
            )
        pairs = list((grads or {}).items())
        for a, g in pairs:
            if not isinstance(a, _C.Array) or not isinstance(g, _C.Array):
                raise ArgumentTypeError("Tape.backward(grads=...): wanted {array: array}")
        leaves = interop.leaf_gradients(self)
        self.run_backward(loss, pairs)
        interop.deliver(leaves)

    def zero(self):
        """Zeroes the gradients of all arrays that the tape has seen."""
        self.zero_gradients()

    def reset(self):
        """Forgets all that was recorded, and zeroes the gradients."""
        self.zero_gradients()
        self.forget()

    def record_func(self, backward, arrays):
        """Adds ``backward()`` to be called in its place; ``arrays`` are what it writes."""
        self.record(backward, list(arrays))

    def visualize(self, filename=None, **kwargs):
        """The entries as text; written to ``filename`` if given."""
        text = self.describe()
        if filename is not None:
            with open(filename, "w") as f:
                f.write(text)
        return text
