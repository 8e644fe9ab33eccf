# SPDX-License-Identifier: Apache-2.0
# function_writer.py: one Python function -> its text in the Source AST: statements here,
# expressions in expression_writer.py, refusals in refusals.py.
"""Translates the statements of a function."""

from __future__ import annotations

import ast

from warp_torch.basic_types import is_generic
from warp_torch.errors import Error, KernelError
from warp_torch.expression_writer import ExpressionWriter, constant_text, quoted
from warp_torch.refusals import REFUSED_STATEMENTS

__all__ = ["FunctionWriter", "constant_text", "quoted"]

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


def assigned_names(node):
    """Names that a function's own statements bind; nested functions count by their name only."""
    out = set()
    todo = list(node.body) if isinstance(node.body, list) else [node.body]
    while todo:
        n = todo.pop()
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            out.add(n.name)
            continue
        if isinstance(n, ast.Lambda):
            continue
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
            out.add(n.id)
        todo.extend(ast.iter_child_nodes(n))
    return out


class FunctionWriter(ExpressionWriter):
    """Writes one function. `unit` collects functions, structs and lines (frontend.py)."""

    def __init__(self, unit, source, node, scope, kind, outer=None):
        self.unit = unit
        self.source = source
        self.node = node
        self.scope = scope
        self.kind = kind
        args = node.args
        self.locals = assigned_names(node) | {
            a.arg for a in args.posonlyargs + args.args + args.kwonlyargs
        }
        self.annotations = {}  # as Python has evaluated them
        self.outer = outer  # writer of the enclosing function, for nested ones
        self.inline = 0

    # Places and errors.
    def place(self, node):
        return self.source.place(node)

    def at(self, node):
        line, col, end = self.source.place(node)
        return f" @{line}:{col}:{end}" if line else ""

    def fail(self, node, code, message, hint=""):
        line, col, _ = self.source.place(node)
        raise KernelError(
            message,
            code=code,
            filename=self.source.name,
            lineno=line,
            col=col,
            hint=hint,
            source=self.source.line(line),
        )

    def evaluate(self, expression, code, what, at=None):
        """Value of a Python expression in the function's scope, or an error at it."""
        try:
            return self.scope.evaluate(expression)
        except Error as e:
            self.fail(at or expression, code, f"{what} cannot be evaluated: {e.message}", e.hint)
        except Exception as e:  # noqa: BLE001 - whatever the user's expression raises
            near = self.scope.nearest(e.name) if isinstance(e, NameError) and e.name else ""
            self.fail(
                at or expression,
                code,
                f"{what} cannot be evaluated: {type(e).__name__}: {e}",
                f"did you mean `{near}`?" if near else "",
            )

    # The function.
    def function_text(self, name, params, attrs):
        head = "kernel" if self.kind == "kernel" else "func"
        out = [f"\n  ({head} {quoted(name)}{self.at(self.node)} {quoted(self.source.name)}"]
        for p in params:
            value = p.value_text if isinstance(p, _InnerParam) else ""
            if not isinstance(p, _InnerParam) and p.default is not type(p).default:
                value = " " + self.constant(self.node, p.default, p.type)
            line, col, end = p.place
            out.append(f"\n    (param {p.name} @{line}:{col}:{end} {quoted(p.text)}{value})")
        result = self.result_text("native" in attrs)
        if result:
            out.append(f"\n    (result {quoted(result)})")
        for key, value in attrs.items():
            out.append(f"\n    (attr {quoted(key)} {quoted(str(value))})")
        if "native" in attrs:
            body = ""
        elif isinstance(self.node, ast.Lambda):
            body = f"\n      (return{self.at(self.node.body)} {self.expr(self.node.body)})"
        else:
            body = self.block(self.node.body, 3)
        out.append(f"\n    (do{body}))")
        return "".join(out)

    def result_text(self, native):
        """Text of the declared result; "" if none, or if it is a tuple (then it is inferred)."""
        returns = getattr(self.node, "returns", None)
        if returns is None or (isinstance(returns, ast.Constant) and returns.value is None):
            return ""
        value = self.annotations.get("return")
        if value is None:
            value = self.evaluate(returns, "WT003", "the result type")
        if isinstance(value, str):
            value = self.evaluate(
                ast.parse(value, mode="eval").body, "WT003", "the result type", at=returns
            )
        if value is None or isinstance(value, (tuple, list)) or hasattr(value, "__origin__"):
            return ""
        try:
            # A result with a placeholder in it follows from what the function returns.
            text = self.unit.type_text(value)
            return text if native or not is_generic(value) else ""
        except Error as e:
            self.fail(returns, "WT003", "result: " + e.message.split(";")[0])

    # Statements.
    def block(self, statements, depth):
        pad = "\n" + "  " * depth
        parts = []
        for i, s in enumerate(statements):
            if (
                i == 0
                and isinstance(s, ast.Expr)
                and isinstance(s.value, ast.Constant)
                and (isinstance(s.value.value, str))
            ):
                continue  # docstring
            parts.append(pad + self.statement(s, depth))
        return "".join(parts)

    def nested(self, name, statements, depth):
        return "\n" + "  " * depth + f"({name}{self.block(statements, depth + 1)})"

    def statement(self, s, depth):
        method = getattr(self, "stmt_" + type(s).__name__, None)
        if method is None:
            what, hint = REFUSED_STATEMENTS.get(type(s).__name__, (type(s).__name__, ""))
            code = "WT012" if what.startswith("async") else "WT011"
            self.fail(s, code, f"{what} is not possible in a kernel", hint)
        return method(s, depth)

    def stmt_Assign(self, s, depth):
        targets = " ".join(self.target(t) for t in s.targets)
        return f"(assign{self.at(s)} {targets} {self.expr(s.value)})"

    def stmt_AnnAssign(self, s, depth):
        value = self.evaluate(s.annotation, "WT003", "the type")
        try:
            text = self.unit.type_text(value)
        except Error as e:
            self.fail(s.annotation, "WT003", e.message.split(";")[0])
        if s.value is None:
            return f"(pass{self.at(s)})"
        return f"(annotate{self.at(s)} {quoted(text)} {self.target(s.target)} {self.expr(s.value)})"

    def stmt_AugAssign(self, s, depth):
        op = _BINARY[type(s.op)]
        own = self.own_operator(s, op)
        return f"(aug{self.at(s)} {op} {self.target(s.target)} {self.expr(s.value)}{own})"

    def stmt_If(self, s, depth):
        known = self.constant_truth(s.test)
        if known is not None:  # the other branch need not make sense for these constants
            return self.block(s.body if known else s.orelse, depth).strip() or f"(pass{self.at(s)})"
        text = f"(if{self.at(s.test)} {self.expr(s.test)}{self.nested('do', s.body, depth + 1)}"
        if s.orelse:
            text += self.nested("else", s.orelse, depth + 1)
        return text + ")"

    def stmt_While(self, s, depth):
        text = f"(while{self.at(s.test)} {self.expr(s.test)}{self.nested('do', s.body, depth + 1)}"
        if s.orelse:
            text += self.nested("else", s.orelse, depth + 1)
        return text + ")"

    def stmt_For(self, s, depth):
        numbers = self.static_range(s)
        if numbers is not None:
            return self.unrolled(s, numbers, depth)
        text = (
            f"(for{self.at(s.iter)} {self.target(s.target)} {self.expr(s.iter)}"
            f"{self.nested('do', s.body, depth + 1)}"
        )
        if s.orelse:
            text += self.nested("else", s.orelse, depth + 1)
        return text + ")"

    def static_range(self, s):
        """The numbers of a loop over constants whose variable a static() in its body uses; None
        for other loops."""
        if not (
            isinstance(s.target, ast.Name)
            and isinstance(s.iter, ast.Call)
            and isinstance(s.iter.func, ast.Name)
            and s.iter.func.id == "range"
            and any(
                isinstance(n, ast.Call)
                and self.is_static(n.func)
                and any(isinstance(m, ast.Name) and m.id == s.target.id for m in ast.walk(n))
                for b in s.body
                for n in ast.walk(b)
            )
        ):
            return None
        bounds = []
        for a in s.iter.args:
            inner = a.args[0] if isinstance(a, ast.Call) and self.is_static(a.func) else a
            used = {n.id for n in ast.walk(inner) if isinstance(n, ast.Name)} & self.locals
            if used - set(self.scope.bound):
                self.fail(
                    a,
                    "WT018",
                    f"static() uses `{s.target.id}`, of a loop whose bounds are not constant",
                    "give range() constants",
                )
            bounds.append(self.evaluate(inner, "WT018", "a bound of the loop"))
        return range(*bounds)

    def unrolled(self, s, numbers, depth):
        """The body once a number, the variable being that number for static()."""
        for n in ast.walk(s):
            if isinstance(n, (ast.Break, ast.Continue)):
                self.fail(
                    n,
                    "WT018",
                    "a loop whose variable static() uses has no break and no continue",
                    "use `if`",
                )
        name, kept = s.target.id, self.scope.bound
        parts = []
        for k in numbers:
            self.scope.bound = {**kept, name: k}
            parts.append(
                f"\n{'  ' * (depth + 2)}(assign{self.at(s)} {self.target(s.target)} (int {k}))"
            )
            parts.append(self.block(s.body, depth + 2))
        self.scope.bound = kept
        orelse = self.block(s.orelse, depth + 2)
        body = "".join(parts) + orelse
        return f"(if{self.at(s)} (bool true)\n{'  ' * (depth + 1)}(do{body}))"

    def stmt_Break(self, s, depth):
        return f"(break{self.at(s)})"

    def stmt_Continue(self, s, depth):
        return f"(continue{self.at(s)})"

    def stmt_Pass(self, s, depth):
        return f"(pass{self.at(s)})"

    def stmt_Return(self, s, depth):
        if s.value is None or (isinstance(s.value, ast.Constant) and s.value.value is None):
            return f"(return{self.at(s)})"
        return f"(return{self.at(s)} {self.expr(s.value)})"

    def stmt_Expr(self, s, depth):
        if isinstance(s.value, ast.Constant):
            return f"(pass{self.at(s)})"
        return f"(expr{self.at(s)} {self.expr(s.value)})"

    def stmt_Assert(self, s, depth):
        text = f"(assert{self.at(s)} {self.expr(s.test)}"
        if s.msg is not None:
            text += " " + self.printed(s.msg)
        return text + ")"

    def stmt_FunctionDef(self, s, depth):
        name = self.nested_function(s, s.name)
        return (
            f"(assign{self.at(s)} (name{self.at(s)} {s.name}) (lambda{self.at(s)} {quoted(name)}))"
        )

    def nested_function(self, node, name):
        """Writes a nested function or lambda as a function of the unit; returns its id."""
        for d in getattr(node, "decorator_list", []):
            self.fail(
                d,
                "WT011",
                "a decorated function inside a kernel is not possible",
                "define the function outside of the kernel",
            )
        a = node.args
        if a.vararg or a.kwarg:
            self.fail(
                node,
                "WT017",
                "a nested function has no *args and no **kwargs",
                "name each parameter",
            )
        plain = a.posonlyargs + a.args
        values = [None] * (len(plain) - len(a.defaults)) + a.defaults + a.kw_defaults
        writer = FunctionWriter(self.unit, self.source, node, self.scope, "lambda", outer=self)
        ident = self.unit.new_id(f"{name}_inner")
        params = [
            _InnerParam(x.arg, self.place(x), "" if v is None else " " + self.expr(v))
            for x, v in zip(plain + a.kwonlyargs, values, strict=True)
        ]
        self.unit.functions.append(writer.function_text(ident, params, {"inline": "1"}))
        return ident


class _InnerParam:
    """Parameter of a nested function: always of the type of what it is given."""

    text = "Any"

    def __init__(self, name, place, value_text):
        self.name = name
        self.place = place
        self.value_text = value_text  # of its default, in the function around
