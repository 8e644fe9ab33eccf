# SPDX-License-Identifier: Apache-2.0
# language.py: the kernel language without the runtime: decorators that only mark functions, and
# the way of a kernel through front end, lowering and the emitter by the command-line tools.
import os
import subprocess
import types as python_types

from warp_torch import frontend, types

from tests.conftest import find_wt_opt
from tests.support import emitted


class Marked:
    """What @kernel and @func leave: enough for the front end."""

    def __init__(self, pyfunc, kind):
        self.pyfunc = pyfunc
        self.wt_kind = kind
        self.__name__ = pyfunc.__name__


def _marker(kind):
    def mark(pyfunc=None, **options):
        if pyfunc is None:
            return lambda f: Marked(f, kind)
        return Marked(pyfunc, kind)

    return mark


def _package():
    """A module that looks like warp_torch to the front end."""
    wp = python_types.ModuleType("warp_torch.language")
    for name in types.__all__:
        setattr(wp, name, getattr(types, name))
    wp.types = types
    wp.kernel, wp.func = _marker("kernel"), _marker("func")
    wp.bool = types.bool_
    wp.static = lambda x: x
    wp.array = types.array_annotation
    return wp


wp = _package()


def find_wt_lower():
    wt_opt = find_wt_opt()
    path = wt_opt and os.path.join(os.path.dirname(wt_opt), "wt_lower")
    return path if path and os.access(path, os.X_OK) else None


class Refused(Exception):
    """wt_lower refused a kernel; holds what it printed."""


def lower(kernel, generics=(), **options):
    """IR text of a marked kernel."""
    source = frontend.write_unit(kernel.pyfunc, options=options)
    return lower_text(source.text, source.entry, generics)


def lower_text(text, entry, generics=()):
    command = [find_wt_lower(), entry, *[types.type_text(t) for t in generics]]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise Refused(done.stderr)
    return done.stdout


def library(kernel, generics=(), **options):
    """Loaded host code of a marked kernel."""
    return emitted.load(emitted.emit(lower(kernel, generics, **options), "cpu", "inline,optimize"))
