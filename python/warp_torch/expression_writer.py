# SPDX-License-Identifier: Apache-2.0
# expression_writer.py: Python expressions -> Source AST text, with names resolved and captured
# values written as literals.
"""Translates expressions; the base of function_writer.FunctionWriter."""

from __future__ import annotations

import ast
import enum
import math
import operator
import types

import numpy as np

from warp_torch import basic_types as bt
from warp_torch import values
from warp_torch.errors import ArgumentTypeError, Error
from warp_torch.refusals import REFUSED_EXPRESSIONS
from warp_torch.scope import (
    MISSING,
    Builtin,
    is_builtin_name,
    is_func,
    is_kernel,
    is_package,
    kind_of,
    member,
)

__all__ = ["ExpressionWriter", "constant_text", "quoted"]

_UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not"}
_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "bit_and",
    ast.BitOr: "bit_or",
    ast.BitXor: "bit_xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
_COMPARE = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.In: "in",
    ast.NotIn: "notin",
    ast.Is: "is",
    ast.IsNot: "isnot",
}
_NUMBER_TESTS = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_MAX_CAPTURED = 1024  # elements of a NumPy array captured as a constant


def quoted(text):
    """An atom of the text form: bare where it can be (ast_print.cpp has the same rule)."""
    if text and text[0] != "@" and not any(ord(c) <= 32 or c in '()"\\' for c in text):
        return text
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def _float_text(x):
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return repr(float(x))


def _number_text(x, at=""):
    if isinstance(x, (bool, np.bool_)):
        return f"(bool{at} {'true' if x else 'false'})"
    if isinstance(x, (int, np.integer)):
        return f"(int{at} {int(x)})"
    return f"(float{at} {_float_text(float(x))})"


def constant_text(value, t, at=""):
    """A value of the type `t` as a typed literal."""
    if kind_of(t) == "struct":
        parts = [constant_text(getattr(value, f), ft) for f, ft in t.fields.items()]
        return f"(const{at} {quoted(t.text)} {' '.join(parts)})"
    if isinstance(t, bt.ArrayType):
        return f"(none{at})"
    if isinstance(value, values.Composite) or kind_of(t) == "composite":
        value = value if isinstance(value, t) else t(value)
        parts = [_number_text(x) for x in value.numpy().ravel().tolist()]
        return f"(const{at} {quoted(t.text)} {' '.join(parts)})"
    number = value.value if isinstance(value, bt.scalar) else value
    return f"(const{at} {t.text} {_number_text(t(number).value)})"


def builtin_hint(name):
    """What to write for a builtin that stands there without `wp.`."""
    return f"write `wp.{name}`" if is_builtin_name(name) else ""


class ExpressionWriter:
    """Needs from its subclass: unit, source, scope, locals, outer, at(), fail(), evaluate(),
    nested_function()."""

    def expr(self, e):
        method = getattr(self, "expr_" + type(e).__name__, None)
        if method is None:
            code, what, hint = REFUSED_EXPRESSIONS.get(
                type(e).__name__, ("WT019", f"the expression {type(e).__name__}", "")
            )
            self.fail(e, code, f"{what} is not possible in a kernel", hint)
        return method(e)

    def exprs(self, nodes):
        return " ".join(self.expr(n) for n in nodes)

    # Literals.
    def expr_Constant(self, e):
        v = e.value
        if isinstance(v, (bool, int, float)):
            return _number_text(v, self.at(e))
        if v is None:
            return f"(none{self.at(e)})"
        if isinstance(v, str):
            self.fail(
                e,
                "WT013",
                "a string is not possible here",
                "strings may stand only in print() and as the message of assert",
            )
        what = "a complex number" if isinstance(v, complex) else f"the constant {v!r}"
        self.fail(
            e,
            "WT019",
            f"{what} is not possible in a kernel",
            "use a wp.vec2 for a complex number" if isinstance(v, complex) else "",
        )

    # Names. static() gives the object behind a name or dotted name that is no variable.
    def is_local(self, name):
        if name in self.locals:
            return True
        return self.outer is not None and self.outer.is_local(name)

    def static(self, e):
        """Object behind an expression of names and attributes alone, else MISSING."""
        if isinstance(e, ast.Name):
            if self.is_local(e.id):
                return MISSING
            return self.scope.lookup(e.id)
        if isinstance(e, ast.Attribute):
            owner = self.static(e.value)
            return MISSING if owner is MISSING else member(owner, e.attr)
        return MISSING

    def expr_Name(self, e):
        if self.is_local(e.id):
            return f"(name{self.at(e)} {e.id})"
        obj = self.scope.lookup(e.id)
        if obj is MISSING:
            near = self.scope.nearest(e.id, self.locals)
            self.fail(
                e,
                "WT004",
                f"name `{e.id}` is not defined",
                builtin_hint(e.id)
                or self.scope.python_hint(e.id)
                or (f"did you mean `{near}`?" if near else ""),
            )
        return self.constant(e, obj)

    def expr_Attribute(self, e):
        root = e.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or self.is_local(root.id):
            return f"(attr{self.at(e)} {e.attr} {self.expr(e.value)})"
        obj = self.static(e)
        if obj is not MISSING:
            return self.constant(e, obj)
        owner = self.static(e.value)
        if owner is MISSING:
            return f"(attr{self.at(e)} {e.attr} {self.expr(e.value)})"  # reports the inner name
        if isinstance(owner, (values.Composite, tuple)) or kind_of(type(owner)) == "struct":
            return f"(attr{self.at(e)} {e.attr} {self.constant(e.value, owner)})"
        if not isinstance(owner, (types.ModuleType, type)):
            return self.constant(e.value, owner)  # refuses the object
        name = owner.__name__
        known = [n for n in dir(owner) if not n.startswith("_")]
        from warp_torch.errors import nearest

        near = nearest(e.attr, known)
        self.fail(
            e,
            "WT020",
            f"`{name}.{e.attr}` is not known in a kernel",
            f"did you mean `{name}.{near}`?" if near and near != e.attr else "",
        )

    # Captured objects.
    def constant(self, e, obj, t=None):
        """Text of an object captured from outside; `t` is the type wanted, if known."""
        at = self.at(e)
        if isinstance(obj, enum.Enum):
            obj = obj.value
        if isinstance(obj, Builtin):
            return f"(builtin{at} {quoted(obj.name)})"
        if (
            t is not None
            and isinstance(t, type)
            and not isinstance(obj, t)
            and (kind_of(t) == "composite" or issubclass(t, bt.scalar))
            and not bt.is_generic(t)
        ):
            try:
                return constant_text(obj, t, at)
            except (Error, TypeError, ValueError):
                self.fail(e, "WT016", f"{obj!r} does not fit the type {bt.type_name(t)}")
        # NumPy's default types are Python's own numbers, so they stay weak like literals.
        if isinstance(obj, (bool, int, float, np.bool_, np.int64)):
            return _number_text(obj, at)
        if obj is None:
            return f"(none{at})"
        if isinstance(obj, np.generic) and bt.is_type(obj.dtype):
            return constant_text(obj.item(), bt.canonical(obj.dtype), at)
        if isinstance(obj, (bt.scalar, values.Composite)) or kind_of(type(obj)) == "struct":
            self.unit.type_text(type(obj))
            return constant_text(obj, type(obj), at)
        if isinstance(obj, tuple):
            return f"(tuple{at} {' '.join(self.constant(e, x) for x in obj)})"
        if isinstance(obj, np.ndarray) and bt.is_type(obj.dtype):
            return self.captured_array(e, obj)
        if is_func(obj):
            ident = self.unit.function_id(
                obj, lambda code, message, hint: self.fail(e, code, message, hint)
            )
            return f"(func{at} {quoted(ident)})"
        if bt.is_type(obj):
            return f"(type{at} {quoted(self.unit.type_text(obj))})"
        self.refuse_object(e, obj)

    def captured_array(self, e, array):
        if array.size == 0 or array.size > _MAX_CAPTURED:
            self.fail(
                e,
                "WT016",
                f"a NumPy array of {array.size} elements cannot be captured",
                "pass it to the kernel as an array parameter",
            )
        t = bt.canonical(array.dtype)
        dims = ",".join(str(n) for n in array.shape) or "1"
        parts = " ".join(_number_text(x) for x in array.ravel().tolist())
        return f"(const{self.at(e)} local<{t.text},{dims}> {parts})"

    def refuse_object(self, e, obj):
        """Raises: `obj` cannot stand in a kernel."""
        text = ast.unparse(e)
        if is_kernel(obj):
            self.fail(
                e,
                "WT015",
                f"kernel `{text}` cannot be used inside a kernel",
                "make it a @wp.func, or launch it from the host",
            )
        if isinstance(obj, (list, dict, set)):
            self.fail(
                e,
                "WT010",
                f"`{text}` is a {type(obj).__name__}, which kernels do not have",
                "capture a tuple or a NumPy array, or pass an array parameter",
            )
        if isinstance(obj, str):
            self.fail(
                e,
                "WT013",
                f"`{text}` is a string, which kernels do not have",
                "strings may stand only in print() and as the message of assert",
            )
        if text.startswith(("np.random.", "numpy.random.", "random.")):
            self.fail(
                e,
                "WT016",
                f"`{text}` draws on the host",
                "write `rng = wp.rand_init(seed, wp.tid())`, then wp.randf(rng), wp.randn(rng)",
            )
        if callable(obj) and hasattr(obj, "__code__"):
            self.fail(
                e, "WT016", f"`{text}` is a plain Python function", "decorate it with @wp.func"
            )
        if callable(obj) and isinstance(e, ast.Attribute) and is_builtin_name(e.attr):
            self.fail(e, "WT016", f"`{text}` cannot be called in a kernel", f"write `wp.{e.attr}`")
        if hasattr(obj, "__dlpack__"):
            self.fail(
                e,
                "WT016",
                f"`{text}` is data of the host",
                "make it a parameter of the kernel and give it to launch()",
            )
        what = (
            f"the module {obj.__name__}"
            if hasattr(obj, "__loader__") and hasattr(obj, "__name__")
            else f"an object of type {type(obj).__name__}"
        )
        self.fail(
            e,
            "WT016",
            f"`{text}` is {what}, which a kernel cannot use",
        )

    # Operators.
    def expr_UnaryOp(self, e):
        op = _UNARY[type(e.op)]
        operand = e.operand
        if (
            op == "neg"
            and isinstance(operand, ast.Constant)
            and (type(operand.value) in (int, float))
        ):
            return _number_text(-operand.value, self.at(e))
        return f"(unary{self.at(e)} {op} {self.expr(operand)}{self.own_operator(e, op)})"

    def expr_BinOp(self, e):
        op = _BINARY[type(e.op)]
        own = self.own_operator(e, "mul" if op == "matmul" else op)
        return f"(binary{self.at(e)} {op} {self.expr(e.left)} {self.expr(e.right)}{own})"

    def own_operator(self, e, name):
        """The user's @func called `add`, `mul`, ..., which an operator tries first."""
        obj = MISSING if self.is_local(name) else self.scope.lookup(name)
        if not is_func(obj) or id(obj) in self.unit.stack:
            return ""
        return " " + self.constant(e, obj)

    def expr_BoolOp(self, e):
        op = "and" if isinstance(e.op, ast.And) else "or"
        return f"({op}{self.at(e)} {self.exprs(e.values)})"

    def expr_Compare(self, e):
        ops = " ".join(_COMPARE[type(o)] for o in e.ops)
        return (
            f"(compare{self.at(e)} {quoted(ops)} {self.expr(e.left)} {self.exprs(e.comparators)})"
        )

    def expr_IfExp(self, e):
        known = self.constant_truth(e.test)
        if known is not None:
            return self.expr(e.body if known else e.orelse)
        return f"(ifelse{self.at(e)} {self.expr(e.test)} {self.expr(e.body)} {self.expr(e.orelse)})"

    def expr_Tuple(self, e):
        return f"(tuple{self.at(e)} {self.exprs(e.elts)})" if e.elts else f"(tuple{self.at(e)})"

    def expr_Starred(self, e):
        return f"(star{self.at(e)} {self.expr(e.value)})"

    def expr_Lambda(self, e):
        return f"(lambda{self.at(e)} {quoted(self.nested_function(e, 'lambda'))})"

    def expr_Subscript(self, e):
        owner = self.static(e.value)
        if isinstance(owner, Builtin) and owner.name == "adjoint":
            if not isinstance(e.slice, ast.Name) or not self.is_local(e.slice.id):
                self.fail(e, "WT019", "adjoint[...] takes the name of a parameter")
            return f"(name{self.at(e)} adjoint.{e.slice.id})"
        obj = self.static_type(e)
        if obj is not MISSING:
            return self.constant(e, obj)
        key = e.slice
        parts = key.elts if isinstance(key, ast.Tuple) else [key]
        return f"(index{self.at(e)} {self.expr(e.value)} {' '.join(self.index(p) for p in parts)})"

    def index(self, p):
        if not isinstance(p, ast.Slice):
            return self.expr(p)
        bounds = [self.expr(b) if b is not None else "(none)" for b in (p.lower, p.upper, p.step)]
        # A slice has no place of its own in Python's tree before 3.9; at() copes with none.
        return f"(slice{self.at(p)} {' '.join(bounds)})"

    # Calls.
    def static_type(self, e):
        """The type that `wt.types.vector(3, float)` or `wp.array2d[float]` makes, else MISSING."""
        head = e.func if isinstance(e, ast.Call) else e.value
        maker = self.static(head)
        name = maker.name if isinstance(maker, Builtin) else getattr(maker, "__name__", "")
        if maker is MISSING or not name:
            return MISSING
        makes_types = name in (
            "vector",
            "matrix",
            "vec",
            "mat",
            "quaternion",
            "transformation",
            "array",
            "array1d",
            "array2d",
            "array3d",
            "array4d",
        )
        if not makes_types:
            return MISSING
        try:
            value = self.scope.evaluate(e)
        except Exception:  # noqa: BLE001 - then it is no type
            return MISSING
        return value if bt.is_type(value) else MISSING

    def names_a_type(self, func):
        """`types.vector` and `wp.vec` make types; `wp.vector` makes values, as in the table."""
        if not isinstance(func, ast.Attribute):
            return False
        owner = self.static(func.value)
        return func.attr in ("vec", "mat") or getattr(owner, "__name__", "") == "warp_torch.types"

    def expr_Call(self, e):
        if self.is_static(e.func):
            return self.static_call(e)
        if isinstance(e.func, ast.Call):
            made = self.static_type(e.func)
            callee = self.expr(e.func) if made is MISSING else self.constant(e.func, made)
            return self.call_text(e, callee, "")
        obj = self.static(e.func)
        if is_kernel(obj):
            self.refuse_object(e.func, obj)
        if self.names_a_type(e.func) and (made := self.static_type(e)) is not MISSING:
            return self.constant(e, made)
        name = obj.name if isinstance(obj, Builtin) else ""
        if name in ("launch", "launch_tiled"):
            self.fail(
                e,
                "WT015",
                "a kernel cannot launch kernels",
                "call a @wp.func, or launch from the host",
            )
        return self.call_text(e, self.expr(e.func), name)

    def call_text(self, e, callee, name):
        value = self.printed if name in ("print", "printf") else self.argument
        parts = [callee] + [value(a) for a in e.args]
        for k in e.keywords:
            if k.arg is None:
                self.fail(k.value, "WT019", "** is not possible in a kernel", "name each argument")
            parts.append(f"(kw{self.at(k.value)} {k.arg} {value(k.value)})")
        return f"(call{self.at(e)} {' '.join(parts)})"

    def argument(self, a):
        """An argument; `shape=[4, 4]` may be a list."""
        if (
            isinstance(a, ast.List)
            and all(not isinstance(x, ast.Starred) for x in a.elts)
            and (
                a.elts
                and all(isinstance(x, (ast.Constant, ast.Name, ast.Attribute)) for x in a.elts)
            )
            and self._all_integers(a.elts)
        ):
            return f"(tuple{self.at(a)} {self.exprs(a.elts)})"
        return self.expr(a)

    def _all_integers(self, elts):
        for x in elts:
            v = x.value if isinstance(x, ast.Constant) else self.static(x)
            if not isinstance(v, (int, np.integer)) or isinstance(v, bool):
                return False
        return True

    def printed(self, a):
        """A part of print() or of an assert's message: strings and f-strings may stand here."""
        if isinstance(a, ast.Constant) and isinstance(a.value, str):
            return f"(str{self.at(a)} {quoted(a.value)})"
        if isinstance(a, ast.JoinedStr):
            parts = []
            for v in a.values:
                if isinstance(v, ast.FormattedValue):
                    if v.format_spec is not None or v.conversion != -1:
                        self.fail(
                            a,
                            "WT013",
                            "a format after `:` or `!` is not possible here",
                            "print the plain value",
                        )
                    parts.append(self.expr(v.value))
                else:
                    parts.append(f"(str {quoted(v.value)})")
            return f"(fstr{self.at(a)} {' '.join(parts)})"
        if isinstance(a, (ast.Name, ast.Attribute)) and isinstance(self.static(a), str):
            return f"(str{self.at(a)} {quoted(self.static(a))})"
        return self.expr(a)

    # wt.static
    def is_static(self, func):
        obj = self.static(func)
        if isinstance(obj, Builtin) and obj.name == "static":
            root = func.value if isinstance(func, ast.Attribute) else None
            return root is None or is_package(self.static(root))
        return False

    def static_call(self, e):
        if len(e.args) != 1 or e.keywords:
            self.fail(e, "WT018", "static() takes one expression")
        bound = {
            n.id
            for n in ast.walk(e.args[0])
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        used = {n.id for n in ast.walk(e.args[0]) if isinstance(n, ast.Name)} & self.locals
        outside = {n for n in used - bound if self.scope.lookup(n) is MISSING}
        if outside:
            name = sorted(outside)[0]
            self.fail(
                e.args[0],
                "WT018",
                f"static() uses `{name}`, which the kernel computes",
                "static() is evaluated when the kernel is declared; use names from outside",
            )
        value = self.evaluate(e.args[0], "WT018", "the expression of static()")
        try:
            return self.constant(e.args[0], value)
        except ArgumentTypeError as error:
            self.fail(e.args[0], "WT018", f"static() gave {value!r}: {error.message}")

    def constant_truth(self, e):
        """Whether a condition of captured constants, literals and static() alone holds, else
        None."""
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            inner = self.constant_truth(e.operand)
            return None if inner is None else not inner
        if isinstance(e, ast.BoolOp):
            ends = isinstance(e.op, ast.Or)
            for v in e.values:
                known = self.constant_truth(v)
                if known is None or known == ends:
                    return known
            return not ends
        if isinstance(e, ast.Compare):
            parts = [self.constant_number(x) for x in (e.left, *e.comparators)]
            tests = [_NUMBER_TESTS.get(type(o)) for o in e.ops]
            if any(p is MISSING for p in parts) or None in tests:
                return None
            return all(t(a, b) for t, a, b in zip(tests, parts, parts[1:], strict=False))
        value = self.constant_number(e)
        return None if value is MISSING else bool(value)

    def constant_number(self, e):
        """The number that a literal, a captured name or a static() is, else MISSING."""
        if isinstance(e, ast.Call):
            if not self.is_static(e.func):
                return MISSING
            self.static_call(e)  # refuses what static() may not use
            value = self.evaluate(e.args[0], "WT018", "the expression of static()")
        else:
            value = e.value if isinstance(e, ast.Constant) else self.static(e)
        return value if isinstance(value, (int, float, np.number, np.bool_)) else MISSING

    # Targets.
    def target(self, t):
        if isinstance(t, (ast.Tuple, ast.List)):
            return f"(tuple{self.at(t)} {' '.join(self.target(x) for x in t.elts)})"
        if isinstance(t, ast.Name):
            return f"(name{self.at(t)} {t.id})"
        if isinstance(t, ast.Starred):
            self.fail(
                t,
                "WT019",
                "`*` in a target is not possible in a kernel",
                "unpack into as many variables as there are values",
            )
        return self.expr(t)
