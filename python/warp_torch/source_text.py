# SPDX-License-Identifier: Apache-2.0
# source_text.py: finds the source text of a Python function and its syntax tree.
"""Source from files, notebooks, the REPL, standard input, linecache, or given as text."""

from __future__ import annotations

import ast
import itertools
import linecache
import os
import stat

from warp_torch.errors import KernelError

__all__ = ["SourceFile", "find_function", "function_from_source"]

_counter = itertools.count(1)
_parsed = {}  # file name -> (hash of the text, SourceFile)


class SourceFile:
    """Lines of one file and its syntax tree, with places as characters."""

    def __init__(self, name, lines):
        self.name = name
        self.lines = lines
        self.tree = ast.parse("".join(lines), filename=name)
        self._functions = {}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = min([node.lineno] + [d.lineno for d in node.decorator_list])
                self._functions.setdefault((node.name, first), node)
            elif isinstance(node, ast.Lambda):
                self._functions.setdefault(("<lambda>", node.lineno), []).append(node)

    def line(self, number):
        """Text of a line, without its end."""
        return self.lines[number - 1].rstrip("\r\n") if 0 < number <= len(self.lines) else ""

    def column(self, lineno, offset):
        """Column, from 1, of a byte offset as the ast module counts it."""
        text = self.line(lineno)
        if not text.isascii():
            offset = len(text.encode()[:offset].decode(errors="replace"))
        return offset + 1

    def place(self, node):
        """(line, column, end column) of a node."""
        line = getattr(node, "lineno", 0)
        if not line:
            return (0, 0, 0)
        col = self.column(line, node.col_offset)
        if getattr(node, "end_lineno", None) == line:
            return (line, col, self.column(line, node.end_col_offset))
        return (line, col, max(col + 1, len(self.line(line)) + 1))

    def find(self, code):
        """The syntax node of a code object, or None."""
        found = self._functions.get((code.co_name, code.co_firstlineno))
        if not isinstance(found, list):
            return found
        if len(found) == 1:
            return found[0]
        names = code.co_varnames[: code.co_argcount]
        fits = [n for n in found if tuple(a.arg for a in n.args.args) == names]
        if hasattr(code, "co_positions") and len(fits) > 1:
            at = {p[2] for p in code.co_positions() if p[2] is not None}
            fits = [
                n
                for n in fits
                if at & set(range(n.col_offset, n.end_col_offset))
                and min(at) >= n.col_offset
                and max(at) <= n.end_col_offset
            ] or fits
        return fits[0] if len(fits) == 1 else None


def _stdin_lines():
    """Text of a script given as `python < script.py`, read without moving the file."""
    try:
        info = os.fstat(0)
        if stat.S_ISREG(info.st_mode):
            return os.pread(0, info.st_size, 0).decode().splitlines(keepends=True)
    except (OSError, UnicodeDecodeError):
        pass
    return []


def _lines(function):
    name = function.__code__.co_filename
    lines = linecache.getlines(name, getattr(function, "__globals__", None))
    if not lines and name == "<stdin>":
        lines = _stdin_lines()
    return lines


def _load(name, lines):
    key = hash(tuple(lines))
    cached = _parsed.get(name)
    if cached is None or cached[0] != key:
        cached = _parsed[name] = (key, SourceFile(name, lines))
    return cached[1]


def find_function(function):
    """(SourceFile, syntax node) of a Python function. Raises KernelError WT001 if there is none."""
    code = function.__code__
    name = code.co_filename
    lines = _lines(function)
    node = None
    if lines:
        try:
            node = _load(name, lines).find(code)
            if node is None and os.path.exists(name):
                linecache.checkcache(name)
                node = _load(name, _lines(function)).find(code)
        except SyntaxError:
            node = None
    if node is None:
        raise KernelError(
            f"the source of {function.__qualname__}() cannot be found"
            + (": the file has changed since it was loaded" if lines else ""),
            code="WT001",
            filename=name,
            lineno=code.co_firstlineno,
            hint="define it in a file or a notebook cell, or give its text: "
            'wp.kernel(source="def f(...): ...")',
        )
    return _parsed[name][1], node


def function_from_source(source, namespace, name=None):
    """Runs `source`, which defines one function (or the one called `name`), and returns it. Its
    text is registered with linecache, so that errors and later look-ups find it."""
    import textwrap

    source = textwrap.dedent(source)
    if not source.endswith("\n"):
        source += "\n"
    filename = f"<warp_torch source {next(_counter)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    try:
        code = compile(source, filename, "exec")
    except SyntaxError as e:
        raise KernelError(
            f"the given source does not parse: {e.msg}",
            code="WT001",
            filename=filename,
            lineno=e.lineno or 0,
            col=e.offset or 0,
            source=(e.text or "").rstrip("\n"),
        ) from None
    before = dict(namespace)
    exec(code, namespace)  # noqa: S102 - the caller's own text
    made = [
        v
        for k, v in namespace.items()
        if callable(v) and (before.get(k) is not v) and getattr(v, "__code__", None)
    ]
    chosen = [f for f in made if name in (None, f.__name__)]
    if len(chosen) != 1:
        names = ", ".join(f.__name__ for f in made) or "none"
        raise KernelError(
            "the given source must define exactly one function, or `name` must say "
            f"which; it defines: {names}",
            code="WT001",
            filename=filename,
        )
    return chosen[0]
