# SPDX-License-Identifier: Apache-2.0
# structs.py: @struct: a class of typed fields with the layout of the same struct in C.
"""``@struct`` turns a class with annotations into a kernel type with host values."""

from __future__ import annotations

import copy
import hashlib
import inspect
import sys

import numpy as np

from warp_torch import basic_types as bt
from warp_torch import values
from warp_torch.declarations import Variable
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, nearest

__all__ = ["struct"]

_layouts = {}  # struct name -> text of its fields, over the process


class StructBase:
    """Base of the values of every @struct."""

    wt_kind = "struct"
    text = ""
    fields = {}  # name -> type, in order
    defaults = {}
    np_dtype = None

    def __init__(self, *args, **kwargs):
        names = list(self.fields)
        if len(args) > len(names):
            raise ArgumentValueError(
                f"{type(self).__name__}() takes {len(names)} fields, got {len(args)}", code="WT634"
            )
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise ArgumentValueError(
                    f"{type(self).__name__}(): field {name!r} given twice", code="WT634"
                )
            given[name] = value
        for name in names:
            object.__setattr__(self, name, self._initial(name))
        for name, value in given.items():
            setattr(self, name, value)

    @classmethod
    def _initial(cls, name):
        t = cls.fields[name]
        if name in cls.defaults:
            return _converted(t, cls.defaults[name], cls, name)
        if isinstance(t, bt.ArrayType):
            return None
        value = t._zero() if issubclass(t, StructBase) else t(0)
        return value.value if isinstance(value, bt.scalar) else value

    @classmethod
    def _zero(cls):
        return cls()

    @classmethod
    def numpy_dtype(cls):
        """The NumPy dtype with the struct's layout."""
        return cls.np_dtype

    def __setattr__(self, name, value):
        if name not in self.fields:
            near = nearest(name, self.fields)
            raise AttributeError(
                f"{type(self).__name__} has no field {name!r}"
                + (f"; did you mean {near!r}?" if near else "")
            )
        object.__setattr__(self, name, _converted(self.fields[name], value, type(self), name))

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, f) == getattr(other, f) for f in self.fields)

    __hash__ = None

    def __repr__(self):
        body = ", ".join(f"{f}={getattr(self, f)!r}" for f in self.fields)
        return f"{type(self).__name__}({body})"

    def __copy__(self):
        out = object.__new__(type(self))
        for name in self.fields:
            object.__setattr__(out, name, _own(getattr(self, name)))
        return out

    def to(self, device):
        """A copy whose arrays are on ``device``."""
        out = type(self)()
        for name, t in self.fields.items():
            value = getattr(self, name)
            movable = value is not None and (
                isinstance(t, bt.ArrayType) or isinstance(value, StructBase)
            )
            setattr(out, name, value.to(device) if movable else value)
        return out

    def numpy_value(self):
        """The value in C layout, as a NumPy scalar of the struct's dtype."""
        return np.frombuffer(struct_bytes(self), dtype=self.np_dtype)[0]


def _converted(t, value, owner, name):
    """``value`` as a field of type ``t`` holds it: numbers as Python numbers."""
    if isinstance(t, bt.ArrayType):
        return _array_field(t, value, owner, name)
    if issubclass(t, StructBase) and getattr(value, "text", None) == t.text:
        return _own(value)  # as an assignment in C
    if isinstance(value, t):
        return value.value if isinstance(value, bt.scalar) else _own(value)
    if getattr(t, "kind", "") == "int" and isinstance(_plain(value), float):
        raise ArgumentTypeError(
            f"{owner.__name__}.{name} wants {bt.type_name(t)}, got {value!r}; write int(x) to cut "
            "it off",
            code="WT634",
        )
    if issubclass(t, StructBase):
        raise ArgumentTypeError(
            f"{owner.__name__}.{name} wants {t.__name__}, got {value!r}", code="WT634"
        )
    try:
        value = t(value)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{owner.__name__}.{name} wants {bt.type_name(t)}, got {value!r}", code="WT634"
        ) from None
    return value.value if isinstance(value, bt.scalar) else value


def _own(value):
    """A value that no one else changes; arrays are shared."""
    return copy.copy(value) if isinstance(value, (StructBase, values.Composite)) else value


def _plain(value):
    """The Python number in a scalar of ours or of NumPy."""
    value = value.value if isinstance(value, bt.scalar) else value
    return value.item() if isinstance(value, np.generic) else value


def _array_field(t, value, owner, name):
    """An array for a field, None for none; what stands for an empty array becomes one."""
    if value is None:
        return None
    if isinstance(value, bt.ArrayType):
        from warp_torch.array_making import empty

        return empty((0,) * value.ndim, dtype=value.dtype)
    wanted, got = bt.type_name(t), type(value).__name__
    dtype, ndim = getattr(value, "dtype", None), getattr(value, "ndim", 0)
    if hasattr(value, "__wt_descriptor__"):
        if bt.type_text(dtype) == bt.type_text(t.dtype) and ndim == t.ndim:
            return value
        got = f"one of {ndim} dimensions of {bt.type_name(dtype)}"
    elif hasattr(value, "__dlpack__"):
        return value  # checked when it is used
    raise ArgumentTypeError(f"{owner.__name__}.{name} wants {wanted}, got {got}", code="WT634")


def _annotations(cls):
    """The class's own annotations, evaluated where they were written."""
    frame = sys._getframe(2)
    try:
        return inspect.get_annotations(cls, eval_str=True)
    except NameError:
        scope = vars(sys.modules.get(cls.__module__, sys)) | frame.f_globals
        return inspect.get_annotations(cls, globals=scope, locals=frame.f_locals, eval_str=True)


def struct(cls):
    """Decorator: the class's annotated fields become a struct usable in kernels and on the host."""
    fields = {}
    for name, annotation in _annotations(cls).items():
        t = bt.canonical(annotation)
        if bt.is_generic(t):
            raise ArgumentTypeError(
                f"struct {cls.__name__}: field {name!r} is generic; a struct needs concrete types",
                code="WT635",
            )
        fields[name] = t
    if not fields:
        raise ArgumentTypeError(
            f"struct {cls.__name__} has no annotated field, such as `x: float`", code="WT635"
        )
    defaults = {n: vars(cls)[n] for n in fields if n in vars(cls)}
    kept = {
        n: v
        for n, v in vars(cls).items()
        if n not in fields and n not in ("__dict__", "__weakref__", "__annotations__")
    }
    np_dtype = np.dtype([(n, bt.np_dtype(t)) for n, t in fields.items()], align=True)
    name = _unique_name(cls.__name__, fields)
    out = type(
        cls.__name__,
        (StructBase,),
        kept
        | {
            "text": f"struct<{name}>",
            "struct_name": name,
            "fields": fields,
            "vars": {n: Variable(n, t) for n, t in fields.items()},
            "defaults": defaults,
            "np_dtype": np_dtype,
            "__qualname__": cls.__qualname__,
            "__module__": cls.__module__,
        },
    )
    out.cls = out
    out.key = cls.__name__
    return out


def _unique_name(name, fields):
    """``name``, or with a hash of the layout if that name has another layout already."""
    layout = ";".join(f"{n}:{bt.type_text(t)}" for n, t in fields.items())
    if _layouts.setdefault(name, layout) == layout:
        return name
    name += "__" + hashlib.sha256(layout.encode()).hexdigest()[:8]
    _layouts[name] = layout
    return name


def _record(value, np_value):
    """Writes the struct ``value`` into the NumPy record ``np_value``."""
    for name, t in value.fields.items():
        x = getattr(value, name)
        if isinstance(t, bt.ArrayType):
            if x is not None:
                np_value[name] = np.frombuffer(x.__wt_descriptor__(), dtype=bt.ARRAY_DTYPE)[0]
        elif issubclass(t, StructBase):
            _record(x, np_value[name])
        elif t is bt.bfloat16:
            np_value[name] = np.float32(x).view(np.uint32) >> 16
        elif isinstance(x, values.Composite) and x.dtype is bt.bfloat16:
            np_value[name] = x.numpy().view(np.uint32) >> 16
        else:
            np_value[name] = x.numpy() if isinstance(x, values.Composite) else x


def struct_bytes(value):
    """The bytes of a struct value in C layout. An array field is its 88-byte descriptor, which the
    array gives by ``__wt_descriptor__()``; an unset one is zeros."""
    out = np.zeros(1, dtype=value.np_dtype)
    _record(value, out[0])
    return out.tobytes()


def struct_from_bytes(cls, data):
    """The struct value whose C layout is ``data``; array fields come back unset."""
    record = np.frombuffer(data, dtype=cls.np_dtype, count=1)[0]
    out = cls()
    for name, t in cls.fields.items():
        if isinstance(t, bt.ArrayType):
            continue
        part = record[name]
        if issubclass(t, StructBase):
            part = struct_from_bytes(t, part.tobytes())
        elif t is bt.bfloat16 or getattr(t, "dtype", None) is bt.bfloat16:
            part = bt.bfloat16_values(part)
        setattr(out, name, part.item() if np.ndim(part) == 0 and hasattr(part, "item") else part)
    return out
