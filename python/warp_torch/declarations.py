# SPDX-License-Identifier: Apache-2.0
# declarations.py: what kernels, functions and structs tell of their parameters and fields.
"""``kernel.adj.args``, ``function.input_types`` and ``Struct.vars``, as in Warp."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from warp_torch import basic_types as bt
from warp_torch.errors import ArgumentTypeError


class Variable(NamedTuple):
    """A parameter or a field: its name and its type."""

    label: str
    type: Any


class Declaration:
    """A function's source and parameters.

    Attributes: func, fun_name, args (list of Variable), arg_types (name -> type).
    """

    def __init__(self, function):
        self.func = function
        self.fun_name = function.__name__
        hints = _hints(function)
        self.arg_types = {
            n: _type_of(hints.get(n, Any)) for n in inspect.signature(function).parameters
        }
        self.args = [Variable(name, t) for name, t in self.arg_types.items()]

    @property
    def source(self):
        """The text of the function, with its decorators."""
        return inspect.getsource(self.func)


def _hints(function):
    try:
        return inspect.get_annotations(function, eval_str=True)
    except Exception:  # noqa: BLE001 - written as text, with names of an enclosing function
        return inspect.get_annotations(function)


def _type_of(annotation):
    """The kernel type of an annotation; what is none stays as it is."""
    try:
        return bt.canonical(annotation)
    except (ArgumentTypeError, TypeError):
        return annotation
