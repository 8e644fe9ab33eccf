# SPDX-License-Identifier: Apache-2.0
# errors.py: the exception classes of warp_torch; _bind maps the C++ ones onto these.
"""Exceptions. ``KernelError`` carries ``code``, ``filename``, ``lineno``, ``col`` and ``hint``."""

from __future__ import annotations

import difflib
import linecache

__all__ = [
    "ArgumentTypeError",
    "ArgumentValueError",
    "DeviceError",
    "Error",
    "GradientError",
    "InternalError",
    "KernelError",
    "WarpCodegenAttributeError",
    "WarpCodegenError",
    "WarpCodegenIndexError",
    "WarpCodegenKeyError",
    "WarpCodegenTypeError",
    "WarpCodegenValueError",
]


class Error(RuntimeError):
    """Base of everything that warp_torch raises on purpose; a RuntimeError, as in Warp."""

    code = ""
    filename = ""
    lineno = 0
    col = 0
    hint = ""

    def __init__(self, message="", *, code="", filename="", lineno=0, col=0, hint="", source=""):
        self.message = message
        self.code = code
        self.filename = filename
        self.lineno = lineno
        self.col = col
        self.hint = hint or _remedy(code)
        self.source = source or _line(filename, lineno)
        super().__init__(self._printed())

    def _printed(self):
        """``file:line:col: error CODE: message``, the line with a caret, then the help."""
        head = ""
        if self.filename:
            head = self.filename
            if self.lineno:
                head += f":{self.lineno}"
                if self.col:
                    head += f":{self.col}"
            head += ": "
        if self.code:
            head += f"error {self.code}: "
        text = head + self.message
        if self.source:
            text += "\n    " + self.source
            if self.col:
                # Tabs stay tabs, so that the caret stands under its column in any terminal.
                lead = "".join("\t" if c == "\t" else " " for c in self.source[: self.col - 1])
                text += "\n    " + lead.ljust(self.col - 1) + "^"
        if self.hint:
            text += f"\n  help: {self.hint}"
        return text

    def __reduce__(self):
        fields = ("code", "filename", "lineno", "col", "hint", "source")
        return (_rebuild, (type(self), self.message, {f: getattr(self, f) for f in fields}))


def _rebuild(cls, message, fields):
    return cls(message, **fields)


class KernelError(Error):
    """The kernel's source is wrong, at ``filename:lineno:col``."""


# Warp's names of what it raises for wrong kernels.
WarpCodegenError = WarpCodegenTypeError = WarpCodegenValueError = KernelError
WarpCodegenAttributeError = WarpCodegenIndexError = WarpCodegenKeyError = KernelError


class ArgumentTypeError(Error, TypeError):
    """An argument of the wrong dtype or kind."""


class ArgumentValueError(Error, ValueError):
    """An argument of the right kind with a wrong shape, range or overlap."""


class GradientError(Error):
    """A derivative that cannot be given correctly, so it is refused."""


class DeviceError(Error):
    """A driver, a compiler or the machine refused."""


class InternalError(Error):
    """A bug of warp_torch itself."""


def _line(filename, lineno):
    """A line of a source file that Python has read, without its end."""
    return linecache.getline(filename, lineno).rstrip("\r\n") if filename and lineno else ""


def _remedy(code):
    """What the table of codes says to do, for an error that says nothing of its own."""
    if not code:
        return ""
    from warp_torch import _C

    return _C.error_remedy(code)


def nearest(name, candidates):
    """The candidate closest to ``name``, or ``""`` if none is close enough to suggest."""
    found = difflib.get_close_matches(name, [str(c) for c in candidates], n=1, cutoff=0.6)
    return found[0] if found else ""
