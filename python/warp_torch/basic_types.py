# SPDX-License-Identifier: Apache-2.0
# basic_types.py: scalars, generics and array annotations; type_text() gives a type its IR name.
"""Scalar types, usable on the host too, and the annotations of arrays."""

from __future__ import annotations

import builtins
import math
import typing
from typing import Any

import numpy as np

from warp_torch.errors import ArgumentTypeError, ArgumentValueError

__all__ = [
    "Any",
    "Float",
    "Function",
    "Int",
    "Scalar",
    "bfloat16",
    "float16",
    "float32",
    "float64",
    "int16",
    "int32",
    "int64",
    "int8",
    "ref",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "array1d",
    "array2d",
    "array3d",
    "array4d",
]


def round_bfloat16(x):
    """``x`` rounded to the nearest bfloat16 (ties to even), as a Python float."""
    x = float(x)
    if x == 0 or not math.isfinite(x):
        return x
    unit = max(math.frexp(x)[1] - 8, -133)  # exponent of the last bit
    rounded = math.ldexp(round(math.ldexp(x, -unit)), unit)
    return math.copysign(math.inf, x) if abs(rounded) >= 2.0**128 else rounded


def bfloat16_values(bits):
    """The float32 values of an array of bfloat16, whose bits NumPy holds as uint16."""
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)


class _ScalarType(type):
    """Class of the scalar types; prints as ``float32``."""

    def __repr__(cls):
        return f"<class 'warp_torch.{cls.__name__.rstrip('_')}'>"


class scalar(metaclass=_ScalarType):  # noqa: N801
    """A number of one fixed type: rounds when made, and arithmetic keeps the type."""

    __slots__ = ("value",)
    text = ""  # name in the IR
    kind = ""  # "float", "int" or "bool"
    np_dtype = None

    def __init__(self, x=0):
        self.value = self._convert(x.value if isinstance(x, scalar) else x)

    @classmethod
    def _convert(cls, x):
        if x is None:
            raise ArgumentTypeError(f"{type_name(cls)}(): got None, wanted a number", code="WT631")
        if cls.kind == "float":
            if cls.text == "bf16":
                return round_bfloat16(x)
            with np.errstate(over="ignore"):
                return float(cls.np_dtype.type(x))
        if cls.kind == "bool":
            return builtins.bool(x)
        n = int(x)
        bits = cls.np_dtype.itemsize * 8
        n &= (1 << bits) - 1
        return n - (1 << bits) if cls.np_dtype.kind == "i" and n >> (bits - 1) else n

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)

    def __index__(self):
        if self.kind == "float":
            raise TypeError(f"a {type_name(type(self))} is not an integer")
        return int(self.value)

    def __bool__(self):
        return builtins.bool(self.value)

    def __array__(self, dtype=None, copy=None):
        base = np.float32 if self.text == "bf16" else self.np_dtype
        return np.asarray(self.value, dtype=dtype or base)

    def __repr__(self):
        return f"{type_name(type(self))}({self.value})"

    def __str__(self):
        return str(self.value)

    def __hash__(self):
        return hash(self.value)

    def __format__(self, spec):
        return format(self.value, spec)

    def __round__(self, digits=None):
        return round(self.value, digits)

    def __trunc__(self):
        return math.trunc(self.value)

    def __floor__(self):
        return math.floor(self.value)

    def __ceil__(self):
        return math.ceil(self.value)

    def __reduce__(self):
        return (type(self), (self.value,))

    def _other(self, other):
        if isinstance(other, scalar):
            if type(other) is not type(self):
                raise ArgumentTypeError(
                    f"{type_name(type(self))} and {type_name(type(other))} do not mix; cast one, "
                    f"for example {type_name(type(self))}(x)",
                    code="WT632",
                )
            return other.value
        if isinstance(other, (builtins.bool, int, float, np.number)):
            # As a literal in a kernel, it has this type.
            return self._convert(other) if self.kind == "float" else other
        return None


def _truncating(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _remainder(a, b):
    return a - b * _truncating(a, b) if isinstance(b, int) else np.fmod(a, b)


def _ieee(fn):
    """``fn`` of two doubles, where Python would raise: division by zero, overflow."""

    def on_doubles(a, b):
        with np.errstate(all="ignore"):
            return float(fn(np.float64(a), np.float64(b)))

    return on_doubles


def _install_operators():
    """The arithmetic and comparison methods of ``scalar``: what the operators mean in kernels."""
    import operator as op

    table = {
        "add": op.add,
        "sub": op.sub,
        "mul": op.mul,
        "truediv": lambda a, b: _truncating(a, b) if isinstance(b, int) else a / b,
        "floordiv": op.floordiv,
        "mod": _remainder,
        "pow": op.pow,
        "and": op.and_,
        "or": op.or_,
        "xor": op.xor,
        "lshift": op.lshift,
        "rshift": op.rshift,
    }
    of_floats = {
        "truediv": _ieee(np.divide),
        "floordiv": _ieee(lambda a, b: np.floor(a / b)),
        "mod": _ieee(np.fmod),
        "pow": _ieee(np.power),
    }
    for name, fn in table.items():
        of_float = of_floats.get(name, fn)

        def method(self, other, fn=fn, of_float=of_float):
            o = self._other(other)
            if o is None:
                return NotImplemented
            return type(self)((of_float if self.kind == "float" else fn)(self.value, o))

        def reflected(self, other, fn=fn, of_float=of_float):
            o = self._other(other)
            if o is None:
                return NotImplemented
            return type(self)((of_float if self.kind == "float" else fn)(o, self.value))

        setattr(scalar, f"__{name}__", method)
        setattr(scalar, f"__r{name}__", reflected)

    for name, test in (
        ("lt", op.lt),
        ("le", op.le),
        ("gt", op.gt),
        ("ge", op.ge),
        ("eq", op.eq),
        ("ne", op.ne),
    ):

        def compare(self, other, fn=test):
            o = self._other(other)
            return NotImplemented if o is None else fn(self.value, o)

        setattr(scalar, f"__{name}__", compare)
    scalar.__neg__ = lambda self: type(self)(-self.value)
    scalar.__pos__ = lambda self: self
    scalar.__abs__ = lambda self: type(self)(abs(self.value))
    scalar.__invert__ = lambda self: type(self)(~self.value)


_install_operators()


def _scalar(name, text, kind, dtype, doc):
    return _ScalarType(
        name,
        (scalar,),
        {
            "__slots__": (),
            "__doc__": doc,
            "__module__": __name__,
            "text": text,
            "kind": kind,
            "np_dtype": np.dtype(dtype),
        },
    )


bool_ = _scalar("bool_", "bool", "bool", np.bool_, "True or False.")
int8 = _scalar("int8", "i8", "int", np.int8, "Signed 8-bit integer.")
uint8 = _scalar("uint8", "u8", "int", np.uint8, "Unsigned 8-bit integer.")
int16 = _scalar("int16", "i16", "int", np.int16, "Signed 16-bit integer.")
uint16 = _scalar("uint16", "u16", "int", np.uint16, "Unsigned 16-bit integer.")
int32 = _scalar("int32", "i32", "int", np.int32, "Signed 32-bit integer; `int` in a kernel.")
uint32 = _scalar("uint32", "u32", "int", np.uint32, "Unsigned 32-bit integer.")
int64 = _scalar("int64", "i64", "int", np.int64, "Signed 64-bit integer.")
uint64 = _scalar("uint64", "u64", "int", np.uint64, "Unsigned 64-bit integer.")
float16 = _scalar("float16", "f16", "float", np.float16, "IEEE half precision.")
bfloat16 = _scalar("bfloat16", "bf16", "float", np.uint16, "Brain float: 8 exponent bits, 16 all.")
float32 = _scalar("float32", "f32", "float", np.float32, "IEEE single precision; `float`.")
float64 = _scalar("float64", "f64", "float", np.float64, "IEEE double precision.")

SCALARS = (
    bool_,
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    float16,
    bfloat16,
    float32,
    float64,
)
_BY_NUMPY = {t.np_dtype: t for t in SCALARS if t is not bfloat16}
_BY_PYTHON = {builtins.bool: bool_, int: int32, float: float32}


class _Generic:
    """A placeholder for a scalar type, bound at the call: wp.Float, wp.Int, wp.Scalar."""

    def __init__(self, name):
        self.__name__ = name
        self.text = name

    def __repr__(self):
        return f"warp_torch.{self.__name__}"


Float = _Generic("Float")
Int = _Generic("Int")
Scalar = _Generic("Scalar")


class Function:
    """Annotation of a parameter that takes a @func."""

    text = "Function"


class ref:  # noqa: N801 - the public name
    """``ref[T]``: annotation of a function's parameter that stands for the caller's variable,
    element, field or component of type ``T``; what the function writes to it is written there."""

    wt_kind = "ref"

    def __init__(self, dtype):
        self.dtype = canonical(dtype)

    def __class_getitem__(cls, dtype):
        return cls(dtype)

    @property
    def text(self):
        return f"ref<{type_text(self.dtype)}>"

    def __repr__(self):
        return f"ref[{type_name(self.dtype)}]"


class ArrayType:
    """Annotation of an array parameter: element type and number of dimensions."""

    __slots__ = ("dtype", "ndim", "optional")
    wt_kind = "array"

    def __init__(self, dtype, ndim=1, optional=False):
        if typing.get_origin(ndim) is typing.Literal:  # array[float, Literal[2]]
            (ndim,) = typing.get_args(ndim)
        if not isinstance(ndim, int) or not 1 <= ndim <= 4:
            raise ArgumentValueError(
                f"array(ndim={ndim}): arrays have 1 to 4 dimensions", code="WT614"
            )
        self.dtype = canonical(dtype)
        self.ndim = ndim
        self.optional = optional

    def __eq__(self, other):
        return isinstance(other, ArrayType) and type_text(self) == type_text(other)

    def __hash__(self):
        return hash(type_text(self))

    def __repr__(self):
        return f"array(dtype={type_name(self.dtype)}, ndim={self.ndim})"

    def __or__(self, other):
        return (
            ArrayType(self.dtype, self.ndim, True)
            if other in (None, type(None))
            else (NotImplemented)
        )

    __ror__ = __or__

    def __call__(self, *args, **kwargs):
        raise TypeError(
            f"{self!r} is a type of a parameter, not a constructor; make arrays with "
            "array(data, dtype=...), zeros(...) or from_numpy(...)"
        )


def array_annotation(dtype=Any, ndim=1):
    """The annotation ``array(dtype=..., ndim=...)`` stands for; the array class delegates here."""
    return ArrayType(dtype, ndim)


def _subscript(item, ndim):
    """``array2d[vec3]``, ``array[float, 2]`` or ``array[float, Literal[2]]``."""
    if isinstance(item, tuple):
        dtype, ndim = item
        if typing.get_origin(ndim) is typing.Literal:
            ndim = typing.get_args(ndim)[0]
        return ArrayType(dtype, ndim)
    return ArrayType(item, ndim)


class _ArrayMaker:
    """array1d .. array4d: annotations, by call or by subscript, and with data or a shape arrays."""

    def __init__(self, ndim):
        self.ndim = ndim
        self.__name__ = f"array{ndim}d"

    def __call__(self, *args, **kwargs):
        if not args and set(kwargs) <= {"dtype"}:
            return ArrayType(kwargs.get("dtype", Any), self.ndim)
        if len(args) == 1 and not kwargs and is_type(args[0]):
            return ArrayType(args[0], self.ndim)
        from warp_torch.array import array

        return array(*args, ndim=self.ndim, **kwargs)

    def __getitem__(self, item):
        return _subscript(item, self.ndim)

    def __repr__(self):
        return f"warp_torch.{self.__name__}"


array1d, array2d, array3d, array4d = (_ArrayMaker(n) for n in (1, 2, 3, 4))


def canonical(t):
    """The type that ``t`` stands for: Python and NumPy scalar types become ours. Raises if none."""
    if isinstance(t, type) and t in _BY_PYTHON:
        return _BY_PYTHON[t]
    if t is Any or isinstance(t, (_Generic, ArrayType, ref)) or t is Function:
        return t
    if isinstance(t, type) and (issubclass(t, scalar) or hasattr(t, "wt_kind")):
        return t
    if isinstance(t, _ArrayMaker):
        return ArrayType(Any, t.ndim)
    if isinstance(t, (np.dtype, type)):
        try:
            d = np.dtype(t)
            return bfloat16 if d.name == "bfloat16" else _BY_NUMPY[d]
        except (KeyError, TypeError):
            pass
    maker = getattr(t, "__wt_annotation__", None)
    if maker is not None:
        return maker()
    raise ArgumentTypeError(
        f"{t!r} is not a kernel type; wanted a scalar (float, int, wp.float64, ...), a vector, "
        "matrix, quaternion or transform, a @wp.struct or wp.array(dtype=...)",
        code="WT611",
    )


def is_type(t):
    """True if ``t`` names a kernel type."""
    if t is None or isinstance(t, (str, builtins.bool, int, float)):
        return False
    try:
        canonical(t)
    except (ArgumentTypeError, TypeError):
        return False
    return True


def type_text(t):
    """The IR's text of a type: ``f32``, ``vec<3,f32>``, ``array<f64,2>``, ``struct<Body>``."""
    t = canonical(t)
    if t is Any:
        return "Any"
    if isinstance(t, ArrayType):
        return f"array<{type_text(t.dtype)},{t.ndim}>"
    return t.text


def type_name(t):
    """The Python-side name, for messages: ``float32``, ``vec3f``, ``array(dtype=..., ndim=1)``."""
    if t is Any:
        return "Any"
    if isinstance(t, (ArrayType, ref)):
        return repr(t)
    name = getattr(t, "__name__", None) or str(t)
    return "bool" if name == "bool_" else name


def is_generic(t):
    """True if the type has a placeholder (Any, Float, Int, Scalar) somewhere."""
    import re

    return re.search(r"\b(Any|Float|Int|Scalar|Function)\b", type_text(t)) is not None


def np_dtype(t):
    """NumPy dtype of one value: scalars, (3,) float32 for vec3, C layout for structs."""
    t = canonical(t)
    if isinstance(t, ArrayType):
        return ARRAY_DTYPE
    return t.np_dtype


# The block that stands for an array inside a struct (csrc/codegen/emit/abi.h, WtArray).
ARRAY_DTYPE = np.dtype(
    [
        ("data", "<i8"),
        ("shape", "<i8", (4,)),
        ("stride", "<i8", (4,)),
        ("batch_stride", "<i8"),
        ("ndim", "<i4"),
        ("flags", "<i4"),
    ],
    align=True,
)
