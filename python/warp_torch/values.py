# SPDX-License-Identifier: Apache-2.0
# values.py: vectors, matrices, quaternions and transforms: annotations, and values on the host.
"""``vector(length, dtype)``, ``matrix(shape, dtype)``, quaternions and transforms.

Every such type is a class; its values hold their components in a small NumPy array.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

import numpy as np

from warp_torch import basic_types as bt
from warp_torch.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["matrix", "quaternion", "transformation", "vector"]

_XYZW = "xyzw"


class _CompositeType(type):
    """Class of the composite types; prints as ``vec3f``."""

    def __repr__(cls):
        return f"<class 'warp_torch.{cls.__name__}'>"

    def __len__(cls):
        return cls.shape[0]


class Composite(metaclass=_CompositeType):
    """Base of vec, mat, quat and transform: a fixed number of components of one scalar type."""

    __slots__ = ("_data",)
    wt_kind = "composite"
    family = ""  # "vec", "mat", "quat", "xform"
    text = ""
    shape = ()
    dtype = None  # scalar type
    np_dtype = None  # of one value
    # NumPy must leave `array * value` to our reflected operators.
    __array_ufunc__ = None

    def __init__(self, *args):
        self._data = self._rounded(self._collect(args))

    @classmethod
    def _rounded(cls, data):
        """The components in the array that stores them, rounded to the scalar type."""
        if cls.dtype is bt.bfloat16:
            flat = [bt.round_bfloat16(float(x)) for x in np.ravel(data)]
            return np.array(flat, np.float32).reshape(cls.shape)
        with np.errstate(over="ignore"):
            return np.array(data, dtype=_storage(cls.dtype)).reshape(cls.shape)

    @classmethod
    def _collect(cls, args):
        """The components that constructor arguments stand for."""
        count = int(np.prod(cls.shape))
        if not args:
            return cls._default()
        if len(args) == 1:
            x = args[0]
            if isinstance(x, (int, float, bt.scalar, np.number)):
                cls._check_whole([_number(x)])
                return np.full(cls.shape, _number(x))
            args = tuple(x) if not isinstance(x, Composite) else (x,)
        flat = []
        for a in args:
            flat.extend(_numbers(a))
        cls._check_whole(flat)
        if len(flat) != count:
            raise ArgumentValueError(
                f"{cls.__name__}() takes {count} numbers, or one for all of them; got {len(flat)}",
                code="WT630",
            )
        return np.array(flat)

    @classmethod
    def _default(cls):
        return np.zeros(cls.shape)

    @classmethod
    def _check_whole(cls, numbers):
        """Floats are no components of an integer type: what would be cut off is said."""
        if cls.dtype.kind != "int":
            return
        for x in numbers:
            if isinstance(x, float):
                raise ArgumentTypeError(
                    f"{cls.__name__}: got {x!r}, wanted whole numbers; write int(x) to cut it off",
                    code="WT631",
                )

    @classmethod
    def _wrap(cls, data):
        self = object.__new__(cls)
        self._data = cls._rounded(data)
        return self

    @classmethod
    def from_ptr(cls, ptr):
        """A copy of the value that lies at the address ``ptr`` of the host."""
        if not ptr:
            raise ArgumentValueError(f"{cls.__name__}.from_ptr(): got address 0", code="WT630")
        raw = (ctypes.c_uint8 * cls.np_dtype.itemsize).from_address(int(ptr))
        data = np.frombuffer(raw, cls.np_dtype.base, count=int(np.prod(cls.shape)))
        if cls.dtype is bt.bfloat16:
            data = bt.bfloat16_values(data)
        return cls._wrap(data)

    def numpy(self):
        """A copy of the components as a NumPy array."""
        return self._data.copy()

    def __array__(self, dtype=None, copy=None):
        return np.array(self._data, dtype=dtype)

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, key):
        part = self._data[key]
        if np.ndim(part) == 0:
            return self._number(part)
        family = vector(len(part), self.dtype) if part.ndim == 1 else matrix(part.shape, self.dtype)
        return family._wrap(part)

    def _number(self, part):
        """A component as the host has it: Python's own number for float32, int32 and bool; others
        keep their type, so that nothing computed from them is rounded to float32."""
        plain = self.dtype in (bt.float32, bt.int32, bt.bool_)
        return part.item() if plain else self.dtype(part.item())

    def __setitem__(self, key, value):
        data = self._data.copy()
        if isinstance(value, (tuple, list)):
            value = [_number(x) for x in value]
        value = np.asarray(value)
        self._check_whole(value.ravel().tolist())
        data[key] = value
        self._data = self._rounded(data)

    def __eq__(self, other):
        if isinstance(other, Composite):
            like = type(self) is type(other) or self.is_like(type(other))
            return like and bool(np.all(self._data == other._data))
        if isinstance(other, (tuple, list, np.ndarray)):
            other = np.asarray(other)
            return other.shape == self.shape and bool(np.all(self._data == other))
        return NotImplemented

    __hash__ = None

    def __repr__(self):
        return f"{type(self).__name__}({self._data.tolist()})"

    def __str__(self):
        return str(self._data.tolist())

    def __reduce__(self):
        return (_rebuild, (self.family, self.shape, self.dtype, self._data.tolist()))

    def __copy__(self):
        return self._wrap(self._data)

    def __deepcopy__(self, memo):
        return self._wrap(self._data)

    @classmethod
    def is_like(cls, other):
        """Whether the type ``other`` differs in the scalar type alone."""
        same = getattr(other, "family", "") == cls.family
        return same and other.shape == cls.shape and other is not cls

    # Arithmetic. `_same` gives the other operand's components, or None if it does not fit.
    def _same(self, other, scalar_too=True):
        if isinstance(other, Composite):
            return other._data if type(other) is type(self) else None
        if scalar_too and isinstance(other, (int, float, bt.scalar, np.number)):
            return _number(other)
        if isinstance(other, (tuple, list, np.ndarray)) and np.shape(other) == self.shape:
            return np.asarray(other)
        return None

    def __add__(self, other):
        o = self._same(other)
        return NotImplemented if o is None else self._wrap(self._data + o)

    def __sub__(self, other):
        o = self._same(other)
        return NotImplemented if o is None else self._wrap(self._data - o)

    def __mod__(self, other):
        o = self._same(other, scalar_too=False)
        if o is None:
            return NotImplemented
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._wrap(np.fmod(self._data, o))

    def __mul__(self, other):
        n = self._factor(other)
        return self._product(other) if n is None else self._wrap(self._data * n)

    def __truediv__(self, other):
        n = self._factor(other)
        return NotImplemented if n is None else self._quotient(self._data, n)

    # What stands left of a value: a NumPy array computes with its components, as NumPy does.
    def __radd__(self, other):
        return other + self._data if isinstance(other, np.ndarray) else self.__add__(other)

    def __rsub__(self, other):
        if isinstance(other, np.ndarray):
            return other - self._data
        o = self._same(other)
        return NotImplemented if o is None else self._wrap(o - self._data)

    def __rmul__(self, other):
        if isinstance(other, np.ndarray):
            return other * self._data
        n = self._factor(other)
        return NotImplemented if n is None else self._wrap(self._data * n)

    def __rtruediv__(self, other):
        if isinstance(other, np.ndarray):
            return other / self._data
        n = self._factor(other)
        return NotImplemented if n is None else self._quotient(n, self._data)

    def __rmatmul__(self, other):
        return other @ self._data if isinstance(other, np.ndarray) else NotImplemented

    def _factor(self, other):
        """A number that scales the components; None if it is none. Floats do not scale integers."""
        if not isinstance(other, (int, float, bt.scalar, np.number)):
            return None
        n = _number(other)
        self._check_whole([n])
        return n

    def _quotient(self, a, b):
        """Whole numbers are divided as in kernels: cut off, and 0 if the divisor is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            q = np.true_divide(a, b)
        if self.dtype.kind == "float":
            return self._wrap(q)
        return self._wrap(np.where(np.isfinite(q), np.trunc(q), 0))

    def __matmul__(self, other):
        return self._product(other)

    def _product(self, other):
        return NotImplemented

    def __neg__(self):
        return self._wrap(-self._data)

    def __pos__(self):
        return self


def _number(x):
    if isinstance(x, bt.scalar):
        return x.value
    return x.item() if isinstance(x, np.generic) else x


def _numbers(x):
    if isinstance(x, Composite):
        return x._data.ravel().tolist()
    if isinstance(x, (int, float, bt.scalar, np.generic)):
        return [_number(x)]
    try:
        numbers = np.asarray(x)
        if numbers.dtype.kind not in "biuf":
            raise TypeError
        return numbers.ravel().tolist()
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{x!r} is no number and no sequence of numbers", code="WT631"
        ) from None


def _rebuild(family, shape, dtype, data):
    makers = {
        "vec": lambda: vector(shape[0], dtype),
        "mat": lambda: matrix(shape, dtype),
        "quat": lambda: quaternion(dtype),
        "xform": lambda: transformation(dtype),
    }
    return makers[family]()._wrap(data)


def _storage(dtype):
    return np.dtype(np.float32) if dtype is bt.bfloat16 else dtype.np_dtype


class Vector(Composite):
    """Base of all vectors."""

    __slots__ = ()
    family = "vec"

    def _product(self, other):
        if isinstance(other, Matrix) and other.shape[0] == self.shape[0]:
            return vector(other.shape[1], self.dtype)._wrap(self._data @ other._data)
        return NotImplemented

    def __matmul__(self, other):
        return self._product(other)

    def __getattr__(self, name):
        idx = [_XYZW.find(c) for c in name]
        if not name or len(name) > 4 or any(not 0 <= i < self.shape[0] for i in idx):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return (
            self[idx[0]] if len(idx) == 1 else vector(len(idx), self.dtype)._wrap(self._data[idx])
        )

    def __setattr__(self, name, value):
        if len(name) == 1 and name in _XYZW[: self.shape[0]]:
            self[_XYZW.index(name)] = value
        else:
            object.__setattr__(self, name, value)


class Matrix(Composite):
    """Base of all matrices; stored row by row."""

    __slots__ = ()
    family = "mat"

    def _product(self, other):
        if isinstance(other, Vector) and other.shape[0] == self.shape[1]:
            return vector(self.shape[0], self.dtype)._wrap(self._data @ other._data)
        if isinstance(other, Matrix) and other.shape[0] == self.shape[1]:
            shape = (self.shape[0], other.shape[1])
            return matrix(shape, self.dtype)._wrap(self._data @ other._data)
        return NotImplemented

    def __getitem__(self, key):
        if isinstance(key, int):
            return vector(self.shape[1], self.dtype)._wrap(self._data[key])
        return super().__getitem__(key)

    def __str__(self):
        return "[" + ",\n ".join(str(row) for row in self._data.tolist()) + "]"

    def get_row(self, r):
        """A row as a vector."""
        return self[int(r)]

    def get_col(self, c):
        """A column as a vector."""
        return vector(self.shape[0], self.dtype)._wrap(self._data[:, c])

    def set_row(self, r, value):
        """Sets a row to a vector, a sequence, or one number."""
        self[r, :] = value

    def set_col(self, c, value):
        """Sets a column to a vector, a sequence, or one number."""
        self[:, c] = value


class Quaternion(Vector):
    """Base of all quaternions, stored x, y, z, w."""

    __slots__ = ()
    family = "quat"

    def _product(self, other):
        if type(other) is not type(self):
            return NotImplemented
        ax, ay, az, aw = self._data
        bx, by, bz, bw = other._data
        return self._wrap(
            [
                aw * bx + ax * bw + ay * bz - az * by,
                aw * by + ay * bw + az * bx - ax * bz,
                aw * bz + az * bw + ax * by - ay * bx,
                aw * bw - ax * bx - ay * by - az * bz,
            ]
        )

    def rotate(self, v):
        """The vector turned by this unit quaternion."""
        u, w, v = self._data[:3], self._data[3], np.asarray(v)
        return vector(3, self.dtype)._wrap(
            v * (2 * w * w - 1) + np.cross(u, v) * (2 * w) + u * (2 * np.dot(u, v))
        )


class Transform(Composite):
    """Base of all transforms: translation ``p`` (3), then rotation ``q`` (x, y, z, w)."""

    __slots__ = ()
    family = "xform"

    def __init__(self, *args, p=None, q=None):
        if len(args) == 1 and np.shape(args[0]) == (3,):  # A translation alone.
            p, args = args[0], ()
        if p is not None or q is not None:
            args = (p if p is not None else (0, 0, 0), q if q is not None else (0, 0, 0, 1))
        super().__init__(*args)

    @classmethod
    def _default(cls):
        return np.array([0, 0, 0, 0, 0, 0, 1])

    @property
    def p(self):
        return vector(3, self.dtype)._wrap(self._data[:3])

    @p.setter
    def p(self, value):
        self[:3] = value

    @property
    def q(self):
        return quaternion(self.dtype)._wrap(self._data[3:])

    @q.setter
    def q(self, value):
        self[3:] = value

    def _product(self, other):
        if type(other) is not type(self):
            return NotImplemented
        p = self.p + self.q.rotate(other.p)
        return self._wrap(np.concatenate([p._data, (self.q * other.q)._data]))


# Suffixes of the named types: Warp's letters.
_SUFFIX = {
    "b": bt.int8,
    "ub": bt.uint8,
    "s": bt.int16,
    "us": bt.uint16,
    "i": bt.int32,
    "ui": bt.uint32,
    "l": bt.int64,
    "ul": bt.uint64,
    "h": bt.float16,
    "f": bt.float32,
    "d": bt.float64,
}
_LETTER = {t: s for s, t in _SUFFIX.items()} | {bt.bfloat16: "bf", bt.bool_: "bool"}


def _dtype_of(dtype):
    dtype = bt.canonical(dtype)
    if not (dtype is Any or isinstance(dtype, bt._Generic) or issubclass(dtype, bt.scalar)):
        raise ArgumentTypeError(f"components of type {dtype!r}: wanted a scalar type", code="WT611")
    return dtype


def _make(base, name, text, shape, dtype):
    concrete = isinstance(dtype, type)
    np_dtype = np.dtype((dtype.np_dtype, shape)) if concrete and Any not in shape else None
    cls = _CompositeType(
        name,
        (base,),
        {
            "__slots__": (),
            "__module__": "warp_torch",
            "__doc__": f"{text}.",
            "text": text,
            "shape": shape,
            "dtype": dtype,
            "np_dtype": np_dtype,
            # As code for Warp reads them.
            "_shape_": shape,
            "_length_": Any if Any in shape else int(np.prod(shape)),
            "_wp_scalar_type_": dtype,
            "_wp_type_params_": [*shape, dtype] if base in (Vector, Matrix) else [dtype],
        },
    )
    return cls


def _letter(dtype):
    return _LETTER.get(dtype, "_any")


def _checked_size(n, what):
    if n is not Any and (not isinstance(n, (int, np.integer)) or not 1 <= n <= 64):
        raise ArgumentValueError(f"{what} of {n!r}: wanted a constant from 1 to 64", code="WT633")
    return n if n is Any else int(n)


def vector(length=Any, dtype=Any):
    """The vector type of ``length`` components, ``vector(3, wp.float64)`` is ``vec3d``."""
    return _vector(_checked_size(length, "vector length"), _dtype_of(dtype))


@functools.cache
def _vector(length, dtype):
    size = "Any" if length is Any else str(length)
    name = f"vec{size}{_letter(dtype)}"
    return _make(Vector, name, f"vec<{size},{bt.type_text(dtype)}>", (length,), dtype)


def matrix(shape=(Any, Any), dtype=Any):
    """The matrix type of ``shape`` (rows, columns), ``matrix((2, 2), float)`` is ``mat22f``."""
    if not isinstance(shape, (tuple, list)) or len(shape) != 2:
        raise ArgumentTypeError(f"matrix(shape={shape!r}): wanted (rows, columns)", code="WT633")
    rows, cols = (_checked_size(n, "matrix size") for n in shape)
    return _matrix((rows, cols), _dtype_of(dtype))


@functools.cache
def _matrix(shape, dtype):
    r, c = ("Any" if n is Any else str(n) for n in shape)
    return _make(
        Matrix, f"mat{r}{c}{_letter(dtype)}", f"mat<{r},{c},{bt.type_text(dtype)}>", shape, dtype
    )


def quaternion(dtype=Any):
    """The quaternion type over ``dtype``."""
    return _quaternion(_dtype_of(dtype))


@functools.cache
def _quaternion(dtype):
    return _make(Quaternion, f"quat{_letter(dtype)}", f"quat<{bt.type_text(dtype)}>", (4,), dtype)


def transformation(dtype=Any):
    """The transform type over ``dtype``."""
    return _transformation(_dtype_of(dtype))


@functools.cache
def _transformation(dtype):
    return _make(
        Transform, f"transform{_letter(dtype)}", f"xform<{bt.type_text(dtype)}>", (7,), dtype
    )


def _define_names():
    """vec2 .. mat44ui, quat*, transform*, spatial_*: module attributes, and public."""
    module = sys.modules[__name__]

    def put(name, cls):
        setattr(module, name, cls)
        __all__.append(name)

    for suffix, dtype in {"": bt.float32, **_SUFFIX}.items():
        for n in (2, 3, 4):
            put(f"vec{n}{suffix}", vector(n, dtype))
            put(f"mat{n}{n}{suffix}", matrix((n, n), dtype))
        if suffix in ("", "h", "f", "d"):
            put(f"quat{suffix}", quaternion(dtype))
            put(f"transform{suffix}", transformation(dtype))
            put(f"spatial_vector{suffix}", vector(6, dtype))
            put(f"spatial_matrix{suffix}", matrix((6, 6), dtype))


_define_names()
