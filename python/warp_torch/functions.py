# SPDX-License-Identifier: Apache-2.0
# functions.py: @func and what goes with it: overloads, custom gradients, replays.
"""Functions that kernels call."""

from __future__ import annotations

import functools
import inspect

from warp_torch import basic_types as bt
from warp_torch import frontend
from warp_torch.declarations import Declaration
from warp_torch.errors import ArgumentTypeError, ArgumentValueError
from warp_torch.modules import get_module

__all__ = ["Function", "custom_vjp", "func", "func_grad", "func_native", "func_replay"]

_declared = {}  # (module, qualified name) -> the Function declared last


class Overload:
    """One Python function of a Function and its attributes in the unit."""

    def __init__(self, pyfunc, signature):
        self.pyfunc = pyfunc
        self.signature = signature
        self.gradient = None  # Python function of a custom gradient
        self.native = None  # C++ text of the body and of its adjoint, where the body is such


class Function:
    """A @func: callable from kernels, and on the host as the Python function that it is.

    Functions of one name and module are overloads of each other; one with the parameter types of
    an earlier one takes its place.
    """

    wt_kind = "func"
    text = "Function"  # as the annotation of a parameter

    def __init__(self, function, name=None, native=None):
        self.pyfunc = self.func = function
        self.key = name or function.__qualname__.rsplit(".", 1)[-1]
        self.attrs = {}
        functools.update_wrapper(self, function)
        place = (function.__module__, function.__qualname__)
        own = Overload(function, _signature(function))
        own.native = native
        before = _declared.get(place)
        kept = [] if before is None else before.overloads
        self.overloads = [o for o in kept if o.signature != own.signature] + [own]
        if function.__name__ != "<lambda>":
            _declared[place] = self
            get_module(function.__module__).functions[self.key] = self

    @functools.cached_property
    def adj(self):
        """The declaration: ``adj.args``, each with ``label`` and ``type``, and ``adj.source``."""
        return Declaration(self.pyfunc)

    @property
    def input_types(self):
        """Types of the parameters, by name."""
        return dict(self.adj.arg_types)

    def __call__(self, *args, **kwargs):
        o = self._fitting(args, kwargs) if len(self.overloads) > 1 else self.overloads[-1]
        if o.native is not None:
            raise ArgumentTypeError(
                f"{self.key}() is C++ text, which runs in kernels only; launch one that calls it",
                code="WT640",
            )
        return o.pyfunc(*args, **kwargs)

    def _fitting(self, args, kwargs):
        """The overload whose parameters take these host values."""
        for o in reversed(self.overloads):
            try:
                bound = inspect.signature(o.pyfunc).bind(*args, **kwargs)
            except TypeError:
                continue
            hints = o.pyfunc.__annotations__
            if all(_takes(hints.get(n), v) for n, v in bound.arguments.items()):
                return o
        return self.overloads[-1]

    def __repr__(self):
        return f"<func {self.key}>"


def _takes(hint, value):
    try:
        t = bt.canonical(hint)
    except (ArgumentTypeError, TypeError):
        return True
    if bt.is_generic(t) or isinstance(t, (bt.ArrayType, bt.ref)):
        return True
    python = {"float": float, "int": int, "bool": bool}.get(getattr(t, "kind", ""))
    return isinstance(value, t) or (python is not None and type(value) is python)


def _signature(function):
    """What tells overloads apart: the types of the parameters."""
    out = []
    for p in inspect.signature(function).parameters.values():
        hint = p.annotation
        if isinstance(hint, str):
            try:
                hint = eval(hint, function.__globals__)  # noqa: S307 - the user's own annotation
            except Exception:  # noqa: BLE001 - a name of an enclosing function
                out.append(hint)
                continue
        if hint is inspect.Parameter.empty:
            hint = bt.Any
        try:
            out.append(bt.type_text(hint))
        except (ArgumentTypeError, TypeError):
            out.append(repr(hint))
    return tuple(out)


def func(f=None, *, module=None, source=None, name=None, inline=None):
    """Decorator: a function that kernels can call. Annotations are optional. Functions are always
    inlined: ``inline`` is accepted for code written for Warp."""

    def make(function):
        frontend.check_function(function, "func")
        return Function(frontend.with_source(function, source), name=name)

    return make if f is None else make(f)


def func_native(snippet, adj_snippet=None, replay_snippet=None):
    """Decorator: a function whose body is C++ text. The Python function gives its name, the names
    and types of its parameters and of its result; its own body is not looked at.

    Args:
        snippet: statements; ``return`` gives the result. Parameters go by their names: arrays are
            indexed with ``x[i]``, vectors with ``v[0]``, structs have their fields. The text is
            compiled for CPU and CUDA; ``#ifdef __CUDACC__`` tells them apart.
        adj_snippet: its adjoint: adds to ``adj_x`` for each parameter ``x``, from ``adj_ret`` and
            ``adj_y``. Without it no gradient passes: a kernel that needs one is refused.
        replay_snippet: accepted for code written for Warp. What the function returned is recorded
            where an adjoint needs it, so nothing runs again.

    Raises:
        ArgumentTypeError: a snippet that is no string.
    """
    for name, text in (
        ("snippet", snippet),
        ("adj_snippet", adj_snippet),
        ("replay_snippet", replay_snippet),
    ):
        if not isinstance(text, str) and not (text is None and name != "snippet"):
            raise ArgumentTypeError(
                f"func_native({name}=...): got a {type(text).__name__}, wanted C++ text",
                code="WT601",
            )
    return lambda function: Function(function, native=(snippet, adj_snippet))


def _overload_of(forward, signature, who):
    if not isinstance(forward, Function):
        raise ArgumentTypeError(
            f"{who}: wanted a function declared with @func, got {forward!r}", code="WT641"
        )
    for o in forward.overloads:
        if signature[: len(o.signature)] == o.signature:
            return o
    known = " or ".join("(" + ", ".join(o.signature) + ")" for o in forward.overloads)
    raise ArgumentValueError(
        f"{who}({forward.key}): its parameters start with ({', '.join(signature)}), "
        f"{forward.key} takes {known}",
        hint="repeat the parameters of the function in order, with their types"
        + ("; then one for the adjoint of each result" if who == "func_grad" else ""),
        code="WT642",
    )


def func_grad(forward):
    """Decorator: the gradient of ``forward``, written by hand. It takes the parameters of
    ``forward``, then the adjoint of each result, and adds to ``wp.adjoint[parameter]``."""

    def make(function):
        o = _overload_of(forward, _signature(function), "func_grad")
        o.gradient = function
        return function

    return make


def custom_vjp(gradient):
    """Decorator: a @func whose gradient is ``gradient``: a function, plain or a @func, of the same
    parameters, then of the cotangent of each result. It returns one value for each float
    parameter, in order: what to add to that parameter's gradient.

        def sign_vjp(x: float, d: float):
            return d

        @wt.custom_vjp(sign_vjp)
        def straight_through_sign(x: float):
            return wt.sign(x)
    """
    if not callable(gradient):
        raise ArgumentTypeError(
            f"custom_vjp(): got a {type(gradient).__name__}, wanted the function of the gradient",
            hint="write @custom_vjp(gradient), with a function of the parameters and cotangents",
            code="WT641",
        )

    def make(function):
        f = function if isinstance(function, Function) else func(function)
        given = gradient.pyfunc if isinstance(gradient, Function) else gradient
        wanted = len(inspect.signature(f.pyfunc).parameters)
        got = len(inspect.signature(given).parameters)
        if got <= wanted:
            raise ArgumentValueError(
                f"custom_vjp({f.key}): the gradient takes {got} parameters, wanted the {wanted} of "
                f"{f.key}, then the cotangent of each result",
                code="WT642",
            )
        f.overloads[-1].gradient = given
        return f

    return make


def func_replay(forward):
    """Decorator: what Warp runs in place of ``forward`` when an adjoint runs the forward code
    again. Values that running again may not give are recorded here, so the adjoint sees those
    of the forward launch anyway; the function is checked and not called."""

    def make(function):
        _overload_of(forward, _signature(function), "func_replay")
        return function

    return make
