# SPDX-License-Identifier: Apache-2.0
# frontend.py: Python function -> text of a Source AST unit (csrc/codegen/ast/ast.h). Start here:
# write_unit() collects the kernel and what it reaches; function_writer.py translates one function;
# scope.py says what names stand for; source_text.py finds the source. Nothing is typed here.
"""The front end: Python functions to Source AST text."""

from __future__ import annotations

import ast
import collections.abc
import inspect
import types
import typing
from dataclasses import dataclass, field
from typing import Any

from warp_torch import basic_types as bt
from warp_torch import config
from warp_torch.errors import ArgumentTypeError, KernelError
from warp_torch.function_writer import FunctionWriter, constant_text, quoted
from warp_torch.scope import Builtin, Scope, as_reference, is_func, kind_of
from warp_torch.source_text import find_function, function_from_source

__all__ = [
    "Param",
    "Source",
    "function_from_source",
    "function_of_gradient",
    "may_be_defined_later",
    "with_source",
    "write_unit",
]


@dataclass
class Param:
    """One parameter of a kernel or function."""

    name: str
    type: Any  # annotation, canonical
    text: str  # its IR text; generic where Any, Float, Int or Scalar stands inside
    default: Any = inspect.Parameter.empty
    place: tuple = (0, 0, 0)

    @property
    def generic(self):
        return bt.is_generic(self.type)

    @property
    def is_function(self):
        return self.type is bt.Function


@dataclass
class Source:
    """A kernel as the compiler takes it."""

    text: str  # the unit
    entry: str  # id of the kernel in it
    name: str
    params: list = field(default_factory=list)
    filename: str = ""
    lineno: int = 0
    line: str = ""

    @property
    def generic(self):
        return any(p.generic for p in self.params)


class _Unit:
    """The functions, structs and lines that one entry reaches, in the order they are met."""

    def __init__(self, options):
        self.options = options
        self.functions = []  # texts
        self.structs = {}  # name -> text
        self.lines = {}  # file -> {number: text}
        self.ids = {}  # object -> id
        self.taken = set()
        self.stack = []  # functions being written, for recursion

    def new_id(self, name):
        out, n = name, 1
        while out in self.taken:
            n += 1
            out = f"{name}_{n}"
        self.taken.add(out)
        return out

    # What function_writer.py asks of the unit.
    def type_text(self, t):
        """IR text of a type; structs inside it become part of the unit."""
        self._note_structs(bt.canonical(t))
        return bt.type_text(t)

    def _note_structs(self, t):
        if isinstance(t, bt.ArrayType):
            if t.dtype is not Any:
                self._note_structs(t.dtype)
        elif getattr(t, "wt_kind", None) == "struct" and t.struct_name not in self.structs:
            for f in t.fields.values():
                self._note_structs(f)
            self.structs[t.struct_name] = t

    def add_lines(self, source, node):
        table = self.lines.setdefault(source.name, {})
        first = min([node.lineno] + [d.lineno for d in getattr(node, "decorator_list", [])])
        for number in range(first, (node.end_lineno or node.lineno) + 1):
            table[number] = source.line(number)

    def function_id(self, func, fail):
        """Id of a @func in the unit; writes it, and what it reaches, on first sight. `fail` raises
        at the place of the reference."""
        key = id(func)
        if key in self.stack:
            fail(
                "WT014",
                f"{func.__name__}() calls itself, directly or through others",
                "kernels have no recursion; use a loop, with a local array as a stack if needed",
            )
        if key not in self.ids:
            self.ids[key] = self.new_id(func.__name__)
            self.stack.append(key)
            for o in getattr(func, "overloads", None) or [func]:
                attrs = dict(getattr(func, "attrs", None) or {})
                if getattr(o, "gradient", None) is not None:
                    attrs["adjoint"] = self.gradient_id(o)
                if getattr(o, "native", None) is not None:
                    attrs["native"], adjoint = o.native
                    if adjoint is not None:
                        attrs["native_adjoint"] = adjoint
                pyfunc = getattr(o, "pyfunc", o)
                self.functions.append(self.write(pyfunc, "func", self.ids[key], attrs)[0])
            self.stack.pop()
        return self.ids[key]

    def gradient_id(self, overload):
        """Id of an overload's custom gradient; writes it."""
        name = self.new_id(f"{overload.pyfunc.__name__}_gradient")
        count = str(len(inspect.signature(overload.pyfunc).parameters))
        text = self.write(overload.gradient, "func", name, {"shadows": count})[0]
        self.functions.append(text)
        return name

    def write(self, function, kind, name, attrs=None, namespace=None, functions=None):
        """(text, parameters) of one Python function; `functions` stand for parameters of it."""
        source, node = find_function(function)
        self.add_lines(source, node)
        if isinstance(node, ast.AsyncFunctionDef):
            line, col, _ = source.place(node)
            raise KernelError(
                f"async def {node.name} is not possible in a kernel",
                code="WT012",
                filename=source.name,
                lineno=line,
                col=col,
                hint="define a plain function",
                source=source.line(line),
            )
        scope = Scope(function, namespace)
        scope.bound = dict(functions or {})
        writer = FunctionWriter(self, source, node, scope, kind)
        writer.locals -= set(scope.bound)
        writer.annotations = function.__annotations__ or {}
        params = read_params(function, node, writer, kind)
        return writer.function_text(name, params, attrs or {}), params

    def text(self):
        out = ["(unit"]
        for key, value in sorted(self.options.items()):
            out.append(f"\n  (option {key} {quoted(str(value))})")
        for name in sorted(self.lines):
            out.append(f"\n  (file {quoted(name)}")
            for number, text in sorted(self.lines[name].items()):
                out.append(f"\n    (line {number} {quoted(text)})")
            out.append(")")
        # Literal defaults may add structs, so the texts are made before they are joined.
        structs = [_struct_text(s) for s in list(self.structs.values())]
        return "".join(out + structs + self.functions) + ")\n"


def _struct_text(s):
    fields = []
    for name, t in s.fields.items():
        value = ""
        if name in s.defaults:
            value = " " + constant_text(s._initial(name), t)
        fields.append(f"\n    (field {name} {quoted(bt.type_text(t))}{value})")
    return f"\n  (struct {s.struct_name}{''.join(fields)})"


def function_of_gradient(func, types, name):
    """Text of a unit whose function `name` returns the gradient of `func` at parameters of these
    types."""
    unit = _Unit({})

    def fail(code, message, hint):
        raise KernelError(message, code=code, hint=hint)

    ident = unit.function_id(func, fail)
    params = " ".join(f"(param a{i} {quoted(unit.type_text(t))})" for i, t in enumerate(types))
    args = " ".join(f"(name a{i})" for i in range(len(types)))
    call = f"(call (call (builtin grad) (func {quoted(ident)})) {args})"
    unit.functions.append(f'\n  (func {name} "<host>" {params} (do (return {call})))')
    return unit.text()


def read_params(function, node, writer, kind):
    """The parameters of a function from its signature and annotations."""
    args = node.args
    given = writer.scope.bound
    for bad, what in ((args.vararg, "*"), (args.kwarg, "**")):
        if bad is not None:
            writer.fail(
                bad,
                "WT017",
                f"parameter {what}{bad.arg}: a kernel's parameters are fixed",
                "name each parameter",
            )
    defaults = {}
    positional = args.posonlyargs + args.args
    for arg, value in zip(positional[::-1], (function.__defaults__ or ())[::-1], strict=False):
        defaults[arg.arg] = value
    defaults.update(function.__kwdefaults__ or {})
    out = []
    for arg in positional + args.kwonlyargs:
        if arg.arg in given:
            continue
        t = _annotation(function, arg, writer, kind)
        out.append(
            Param(
                arg.arg,
                t,
                writer.unit.type_text(t),
                defaults.get(arg.arg, inspect.Parameter.empty),
                writer.place(arg),
            )
        )
    return out


def _annotation(function, arg, writer, kind):
    if arg.annotation is None:
        if kind != "kernel":
            return Any
        writer.fail(
            arg,
            "WT002",
            f"parameter `{arg.arg}` has no type",
            "a kernel has no self: define it outside of the class and pass it the fields"
            if arg.arg == "self"
            else f"annotate it, for example `{arg.arg}: float`, `{arg.arg}: wp.array(dtype=float)`",
        )
    value = (function.__annotations__ or {}).get(arg.arg, arg.annotation)
    if isinstance(value, str):
        value = writer.evaluate(arg.annotation, "WT003", f"the type of parameter `{arg.arg}`")
    if isinstance(value, str):  # a quoted annotation under `from __future__ import annotations`
        value = writer.evaluate(
            ast.parse(value, mode="eval").body,
            "WT003",
            f"the type of parameter `{arg.arg}`",
            at=arg.annotation,
        )
    value = _without_none(value)
    if _is_callable_annotation(value):
        return bt.Function
    try:
        return bt.canonical(value)
    except ArgumentTypeError as e:
        writer.fail(
            arg.annotation,
            "WT003",
            f"parameter `{arg.arg}`: {e.message.split(';')[0]}",
            _annotation_hint(value),
        )


def _without_none(value):
    """Optional[array] is an array: any array may be None."""
    if typing.get_origin(value) not in (typing.Union, types.UnionType):
        return value
    rest = [a for a in typing.get_args(value) if a is not type(None)]
    return rest[0] if len(rest) == 1 and kind_of(rest[0]) == "array" else value


def _annotation_hint(value):
    """What to write instead, for what people write most."""
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__name__', '')}"
    arrays = ("torch.Tensor", "numpy.ndarray", "warp_torch.array.array", "builtins.list")
    if name in arrays:
        return "say what it holds: wp.array(dtype=float), wp.array(dtype=wp.vec3, ndim=2), ..."
    if value is str:
        return "kernels have no strings; pass a number or an enum"
    return ""


def _is_callable_annotation(value):
    origin = typing.get_origin(value) or value
    return origin in (collections.abc.Callable, typing.Callable, bt.Function) or (
        isinstance(origin, type) and getattr(origin, "wt_kind", "") == "func"
    )


def check_function(function, decorator):
    """Refuses what is no plain Python function."""
    if not inspect.isfunction(function):
        raise KernelError(
            f"@{decorator}: {function!r} is not a Python function",
            code="WT001",
            hint="decorate a function written with def",
        )


def with_source(function, source):
    """The function itself, or the one that ``source`` defines where Python has no text for it."""
    if source is None:
        return function
    return function_from_source(source, dict(function.__globals__), function.__name__)


def may_be_defined_later(function, error):
    """True if the error is an unknown name that the rest of the module, or of the function around,
    may still define: Python looks names up when they are used, so code may rely on it."""
    if error.code != "WT004":
        return False
    name = error.message.split("`")[1]
    if name in function.__code__.co_freevars:
        return True
    try:
        source, _ = find_function(function)
    except KernelError:
        return False
    for s in source.tree.body:
        if isinstance(s, (ast.FunctionDef, ast.ClassDef)) and s.name == name:
            return s.lineno > function.__code__.co_firstlineno
        if isinstance(s, (ast.Assign, ast.AnnAssign)):
            targets = s.targets if isinstance(s, ast.Assign) else [s.target]
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                return s.lineno > function.__code__.co_firstlineno
    return False


def unit_options(options):
    """The options of a kernel that its compilation depends on, as numbers; those that are not set
    are left out."""
    out = {k: 1 for k in ("python_mod", "python_div", "fast_math", "fuse_fp") if options.get(k)}
    unroll = options.get("max_unroll")
    if unroll in (None, config._USUAL_MAX_UNROLL):  # Code that sets options back gives the latter.
        unroll = config.max_unroll if config.max_unroll != config._USUAL_MAX_UNROLL else None
    bounds = options.get("launch_bounds")
    threads, blocks = bounds if isinstance(bounds, (tuple, list)) else (bounds, None)
    lineinfo = options.get("lineinfo")
    numbers = {
        "max_unroll": unroll,
        "lineinfo": config.lineinfo if lineinfo is None else lineinfo,
        "max_registers": options.get("cuda_max_registers"),
        "launch_bounds": threads,
        "min_blocks": blocks,
        "mode": {"debug": 1, "release": 2}.get(options.get("mode")),
    }
    return out | {k: int(v) for k, v in numbers.items() if v}


def is_callable_in_kernels(f):
    """True for what may stand for a parameter annotated as a function."""
    return is_func(f) or isinstance(as_reference(f), Builtin)


def function_key(f):
    """What tells functions given to kernels apart."""
    found = as_reference(f)
    return found.name if isinstance(found, Builtin) else f


def write_unit(
    function, *, name=None, options=None, namespace=None, kind="kernel", attrs=None, functions=None
):
    """The Source of a Python function and everything it reaches.

    `options`: python_mod, python_div. `namespace`: further names, such as the locals of the frame
    that declares the kernel. `functions`: name -> function, for parameters of the kernel that are
    none then. Raises KernelError at the Python line.
    """
    if is_func(function):
        attrs, function = getattr(function, "attrs", None), function.pyfunc
    check_function(function, kind)
    unit = _Unit(unit_options(options or {}))
    entry = unit.new_id(name or function.__name__.replace("<lambda>", "lambda_"))
    unit.stack.append(id(function))
    text, params = unit.write(function, kind, entry, attrs, namespace, functions)
    unit.functions.append(text)
    source, node = find_function(function)
    return Source(
        unit.text(),
        entry,
        function.__name__,
        params,
        source.name,
        node.lineno,
        source.line(node.lineno),
    )
