# SPDX-License-Identifier: Apache-2.0
# scope.py: what a name in a kernel stands for: modules, types, functions, builtins, constants.
"""Resolves names of a Python function through its closure, globals and Python's builtins."""

from __future__ import annotations

import builtins
import enum
import math
import types

import numpy as np

from warp_torch import basic_types as bt
from warp_torch import values
from warp_torch.errors import nearest

__all__ = ["Builtin", "MISSING", "SPECIAL_BUILTINS", "Scope", "is_func", "is_kernel", "kind_of"]

MISSING = object()


class Builtin:
    """A reference to a builtin of the kernel language by name."""

    def __init__(self, name):
        self.name = name


# Python and NumPy names that are builtins of another name; others keep theirs.
_MATH = {
    "fabs": "abs",
    "fmod": "fmod",
    "remainder": None,
    "gcd": None,
    "factorial": None,
    "prod": None,
    "fsum": None,
    "comb": None,
    "perm": None,
    "dist": None,
    "isqrt": None,
}
_NUMPY = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "absolute": "abs",
    "fabs": "abs",
    "power": "pow",
    "float_power": "pow",
    "maximum": "max",
    "minimum": "min",
    "clip": "clamp",
    "deg2rad": "radians",
    "rad2deg": "degrees",
    "fmod": "fmod",
    "mod": "mod",
    "remainder": "mod",
    "floor_divide": "floordiv",
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "negative": "neg",
    "matmul": "mul",
    "linalg.norm": "length",
    "linalg.det": "determinant",
    "linalg.inv": "inverse",
}
_NUMPY_SAME = {
    "abs",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "cbrt",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "round",
    "sign",
    "copysign",
    "hypot",
    "isnan",
    "isinf",
    "isfinite",
    "where",
    "dot",
    "cross",
    "outer",
    "trace",
    "transpose",
    "degrees",
    "radians",
    "square",
    "arcsinh",
    "arccosh",
    "arctanh",
}
# Builtins that csrc/codegen/lower/lower_special.cpp knows beside the rows of the table.
SPECIAL_BUILTINS = frozenset(
    "address_of breakpoint expect_neq view "
    "tid zeros empty cast identity quat_identity transform_identity matrix_from_rows "
    "matrix_from_cols vector matrix quaternion transformation loop_bound expect_eq print printf "
    "static atomic_add atomic_sub atomic_min atomic_max atomic_and atomic_or atomic_xor "
    "atomic_exch atomic_cas len min max expect_near block_dim adjoint".split()
)
_PYTHON = {
    "len",
    "min",
    "max",
    "abs",
    "range",
    "reversed",
    "enumerate",
    "zip",
    "sum",
    "print",
    "type",
    "pow",
    "round",
    "breakpoint",
}


def is_builtin_name(name):
    """True if kernels have a builtin of this name."""
    from warp_torch import _C

    return name in SPECIAL_BUILTINS or _C.nearest_builtin(name) == name


def kind_of(obj):
    """ "kernel", "func", "struct", "composite", "array" or None: how a decorator marked `obj`."""
    return getattr(obj, "wt_kind", None)


def is_kernel(obj):
    return kind_of(obj) == "kernel"


def is_func(obj):
    return kind_of(obj) == "func"


def is_package(module):
    """True for warp_torch and its modules."""
    return isinstance(module, types.ModuleType) and (
        module.__name__ == "warp_torch" or module.__name__.startswith("warp_torch.")
    )


def _is_constant(obj):
    return isinstance(
        obj,
        (
            bool,
            int,
            float,
            str,
            tuple,
            np.generic,
            np.ndarray,
            bt.scalar,
            values.Composite,
            enum.Enum,
        ),
    ) or (obj is not None and kind_of(type(obj)) == "struct")


def member(owner, name):
    """Attribute `name` of a module, class or enum as a kernel sees it, or MISSING."""
    if owner is math:
        target = _MATH.get(name, name)
        value = getattr(math, name, MISSING)
        if isinstance(value, float):
            return value
        return MISSING if value is MISSING or target is None else Builtin(target)
    if owner is np or owner is getattr(np, "linalg", None):
        return _numpy_member(owner, name)
    if is_package(owner):
        return _package_member(owner, name)
    if isinstance(owner, (types.ModuleType, type)):
        return getattr(owner, name, MISSING)
    if isinstance(owner, enum.Enum) and name in ("value", "name"):
        return getattr(owner, name)
    if isinstance(owner, types.SimpleNamespace):
        return getattr(owner, name, MISSING)
    return MISSING


def _numpy_member(owner, name):
    value = getattr(owner, name, MISSING)
    if value is MISSING or isinstance(value, (float, types.ModuleType)) or bt.is_type(value):
        return value
    key = name if owner is np else f"linalg.{name}"
    if key in _NUMPY:
        return Builtin(_NUMPY[key])
    return Builtin(name) if key in _NUMPY_SAME else MISSING


def _package_member(owner, name):
    value = getattr(owner, name, MISSING)
    if value is not MISSING:
        if isinstance(value, (types.ModuleType, bt._Generic)) or value is bt.Any:
            return value
        if _is_constant(value) or is_func(value) or is_kernel(value) or bt.is_type(value):
            return value
    # Host functions such as zeros() share their name with the builtin that kernels mean.
    return Builtin(name)


def as_reference(obj):
    """A plain object found under a name, as a kernel sees it: Python's own `abs` is a builtin."""
    name = getattr(obj, "__wt_builtin__", None)
    if name is not None:
        return Builtin(name)
    if isinstance(obj, types.BuiltinFunctionType) and obj.__module__ == "math":
        return member(math, obj.__name__)
    if isinstance(obj, np.ufunc):
        return member(np, obj.__name__)
    module = getattr(obj, "__module__", None) or ""
    if isinstance(obj, types.FunctionType) and (
        module == "warp_torch" or module.startswith("warp_torch.")
    ):
        return Builtin(obj.__name__)
    return obj


class Scope:
    """Names that a function sees from outside itself."""

    def __init__(self, function, namespace=None):
        self.globals = function.__globals__
        self.extra = dict(namespace or {})
        self.bound = {}  # variables of loops that are unrolled for static()
        self.closure = {}
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.closure[name] = cell.cell_contents
            except ValueError:  # assigned after the function was made
                continue

    def lookup(self, name):
        """What the name stands for, or MISSING."""
        for table in (self.bound, self.closure, self.globals, self.extra):
            if name in table:
                return as_reference(table[name])
        if name in _PYTHON:
            return Builtin(name)
        if name in ("int", "float", "bool", "tuple"):
            return getattr(builtins, name)
        return MISSING

    def nearest(self, name, more=()):
        """The most similar name in reach, or ""."""
        pool = [*more, *self.closure, *self.globals, *_PYTHON]
        return nearest(name, [n for n in pool if not n.startswith("__")])

    def python_hint(self, name):
        """What to do about a name that Python has built in and kernels do not."""
        if not hasattr(builtins, name):
            return ""
        return (
            f"`{name}` is Python's own and is not there in kernels; do that on the host, or write "
            "it with loops and the builtins of wp.*"
        )

    def evaluate(self, expression, filename="<annotation>"):
        """Value of a Python expression node in this scope."""
        import ast

        code = compile(ast.Expression(expression), filename, "eval")
        names = {**self.extra, **self.closure, **self.bound}
        return eval(code, self.globals, names)  # noqa: S307 - the user's own expression
