# SPDX-License-Identifier: Apache-2.0
# array_math.py: functions of whole arrays. All are launches of small kernels, so that tapes record
# them and devices run them like any other.
"""``map`` runs a function element by element; sums, inner products and scans are in ``utils``."""

from __future__ import annotations

import functools
import math
import sys

import numpy as np

from warp_torch import _C
from warp_torch import types as _types
from warp_torch.basic_types import scalar as _scalar
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, KernelError
from warp_torch.frontend import function_from_source
from warp_torch.functions import Function, func
from warp_torch.host_data import component_type
from warp_torch.kernel import kernel
from warp_torch.launching import launch

__all__ = []  # map is not a plain name: `import *` leaves Python's map alone

_IDS = ("i", "j", "k", "l")
_NUMBERS = (int, float, _scalar, np.number)


@functools.cache
def _kernel(text, objects=()):
    """The kernel of that text; `objects` are the pairs of name and object that it refers to."""
    return kernel(function_from_source(text, {"wt": sys.modules["warp_torch"], **dict(objects)}))


def _zeros(like, dtype, shape, requires_grad):
    from warp_torch.array_making import zeros

    return zeros(shape, dtype=dtype, device=like.device_name, requires_grad=requires_grad)


# Element by element


def map(f, *inputs, out=None, return_kernel=False, block_dim=None, device=None):  # noqa: A001
    """Calls ``f`` for every element: ``map(f, a, b)[i]`` is ``f(a[i], b[i])``.

    Args:
        f: a @func, a builtin such as ``sin``, or a Python function that could be a @func.
        inputs: arrays, whose shapes are broadcast as NumPy does, and values that are the same for
            all elements.
        out: the array to write, a list of them if ``f`` returns several values; new ones if not
            given, which require a gradient if an input does.
        return_kernel: returns the kernel instead, whose parameters are the inputs and the outputs.
        block_dim: threads of a block on a GPU.
        device: where to run; that of the arrays if not given.

    Returns:
        The array written, or the list of them.
    """
    if not isinstance(f, Function) and not hasattr(f, "__wt_builtin__"):
        if not callable(f):
            raise ArgumentTypeError(
                f"map(): got a {type(f).__name__}, wanted a function", code="WT641"
            )
        f = _as_func(f)
    name = getattr(f, "key", None) or f.__name__
    call = "f(" + ", ".join(f"{{{n}}}" for n in range(len(inputs))) + ")"
    return elementwise(
        f"map({name})", call, inputs, out, (("f", f),), device, block_dim, return_kernel
    )


def transform_points(xform, points, out=None):
    """Points moved by a transform, or each by its own.

    Args:
        xform: a transform, a 4x4 matrix, or an array of either as long as the points.
        points: array of 3-vectors.
        out: the array to write; a new one if not given, which requires a gradient if an input does.

    Returns:
        The array written.
    """
    if not isinstance(points, _C.Array):
        raise ArgumentTypeError(
            f"transform_points(): got a {type(points).__name__} as points, wanted an array",
            hint="for one point write transform_point(xform, point)",
            code="WT601",
        )
    if out is None:
        arrays = [a for a in (xform, points) if isinstance(a, _C.Array)]
        out = _zeros(points, points.dtype, points.shape, any(a.requires_grad for a in arrays))
    call = "wt.transform_point({0}, {1})"
    return elementwise("transform_points()", call, (xform, points), out, ())


@functools.cache
def _as_func(f):
    return func(f)


def operate(expression, *inputs, out=None):
    """What the arithmetic operators of arrays do: ``operate("{0} + {1}", a, b)``. A number takes
    the array's dtype, but as a factor or divisor that of its components."""
    dtype = next(a.dtype for a in inputs if _is_array(a))
    factor = hasattr(dtype, "family") and ("*" in expression or "/" in expression)
    number = component_type(dtype) if factor else dtype
    if component_type(dtype).kind == "int":
        for v in inputs:
            if isinstance(v, (float, np.floating)):
                raise ArgumentTypeError(
                    f"array operator: got {v!r} and an array of {_types.type_name(dtype)}; "
                    "utils.array_cast() makes an array of floats",
                    code="WT619",
                )
    values = [number(v) if isinstance(v, _NUMBERS) else v for v in inputs]
    return elementwise("array operator", expression, values, out, ())


def _is_array(value):
    """Whether it is an array or an indexed array."""
    return isinstance(value, _C.Array) or hasattr(type(value), "array_ndim")


def elementwise(
    who, expression, inputs, out, objects, device=None, block_dim=None, return_kernel=False
):
    outs = [] if out is None else list(out) if isinstance(out, (list, tuple)) else [out]
    arrays = [a for a in inputs if _is_array(a)]
    if not (arrays or outs):
        raise ArgumentTypeError(f"{who}: wanted at least one array among the inputs", code="WT601")
    shape = _common_shape(who, arrays) if arrays else outs[0].shape
    for a in outs:
        if a.shape != shape:
            raise ArgumentValueError(
                f"{who}: the arrays have shapes {shape} and {a.shape}", code="WT618"
            )
    likely = (arrays or outs)[0].dtype
    takes = tuple(_value_type(a, likely, who) for a in inputs)
    reads = tuple(_subscript(a, shape) for a in inputs)
    if out is None:
        dtypes = _result_types(who, expression, takes, reads, len(shape), objects)
        grad = any(a.requires_grad for a in arrays)
        outs = [_zeros(arrays[0], t, shape, grad) for t in dtypes]
        out = outs if len(outs) > 1 else outs[0]
    gives = tuple(_value_type(a, None, who) for a in outs)
    made = _element_kernel(expression, takes, reads, gives, len(shape), objects)
    if return_kernel:
        return made
    launch(made, dim=shape, inputs=[*inputs, *outs], device=device, block_dim=block_dim)
    return out


def _common_shape(who, arrays):
    try:
        return np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError:
        text = " and ".join(str(a.shape) for a in arrays)
        raise ArgumentValueError(f"{who}: the arrays have shapes {text}", code="WT618") from None


def _subscript(value, shape):
    """The subscript that picks an input's element of a thread; a dimension of 1 is repeated."""
    if not _is_array(value):
        return ""
    ids = _IDS[len(shape) - value.ndim : len(shape)]
    own = zip(ids, value.shape, shape[len(shape) - value.ndim :], strict=True)
    return "[" + ", ".join("0" if n == 1 and n != whole else i for i, n, whole in own) + "]"


def _value_type(value, dtype, who):
    """The kernel type of an input; a plain number takes that of the first array's components."""
    if isinstance(value, _C.Array):
        return _types.ArrayType(value.dtype, value.ndim)
    if isinstance(value, (bool, np.bool_)):
        return _types.bool_
    if isinstance(value, (int, float)):
        return component_type(dtype)
    if isinstance(value, np.number):
        return _types.canonical(value.dtype)
    if _types.is_type(type(value)):
        return type(value)
    raise ArgumentTypeError(
        f"{who}: got a {type(value).__name__}, wanted arrays, numbers and values of kernel types",
        code="WT601",
    )


def _element_kernel(expression, takes, reads, gives, ndim, objects, take_apart=None):
    """The kernel; with ``take_apart=(count, n)`` it writes only the n-th of the results."""
    ids = ", ".join(_IDS[:ndim])
    names = [f"a{n}" for n in range(len(takes))]
    outs = [f"out{n}" for n in range(len(gives))]
    values = [f"{a}{at}" for a, at in zip(names, reads, strict=True)]
    params = [f"{a}: T{n}" for n, a in enumerate(names)]
    params += [f"{o}: R{n}" for n, o in enumerate(outs)]
    targets, last = ", ".join(f"{o}[{ids}]" for o in outs), ""
    if take_apart is not None:
        count, n = take_apart
        targets = ", ".join(f"r{k}" for k in range(count))
        last = f"    out0[{ids}] = r{n}\n"
    text = (
        f"def map_elements({', '.join(params)}):\n"
        f"    {ids} = wt.tid()\n"
        f"    {targets} = {expression.format(*values)}\n{last}"
    )
    named = [(f"T{n}", t) for n, t in enumerate(takes)]
    named += [(f"R{n}", t) for n, t in enumerate(gives)]
    return _kernel(text, (*named, *objects))


@functools.cache
def _result_types(who, expression, takes, reads, ndim, objects):
    """The dtypes of the results: those with which the kernel compiles, as types never convert."""
    likely = _likely_types(takes)
    problems = []

    def first_that_compiles(take_apart):
        for dtype in likely:
            try:
                gives = (_types.ArrayType(dtype, ndim),)
                _element_kernel(expression, takes, reads, gives, ndim, objects, take_apart)
            except KernelError as e:
                problems.append(e)
            else:
                return dtype
        return None

    found = first_that_compiles(None)
    if found is not None:
        return (found,)
    for count in range(2, 9):
        types = [first_that_compiles((count, 0))]
        if types[0] is not None:
            types += [first_that_compiles((count, n)) for n in range(1, count)]
            if None not in types:
                return tuple(types)
    raise ArgumentTypeError(
        f"{who}: the type of the results cannot be told; give out=. With that of the first input "
        f"the compiler says: {problems[0].message}",
        code="WT645",
    ) from problems[0]


def _likely_types(takes):
    likely = [t.dtype if isinstance(t, _types.ArrayType) else t for t in takes]
    likely = [getattr(t, "array_dtype", t) for t in likely]  # of an indexed array
    likely += [component_type(t) for t in likely]
    likely += [_types.bool_, _types.int32, _types.float32, _types.float64]
    for t in {component_type(t): None for t in likely}:
        if t in (_types.float16, _types.float32, _types.float64):
            likely += [_types.vector(n, t) for n in (2, 3, 4)]
            likely += [_types.matrix((n, n), t) for n in (2, 3, 4)]
            likely += [_types.quaternion(t), _types.transformation(t)]
    return list(dict.fromkeys(likely))


# Sums and scans

_SUM = """
def array_sum({params}, out: R):
    {ids} = wt.tid()
    wt.atomic_add(out, {target}, {term})
"""

_CHUNK_SUMS = """
def scan_chunks(x: T, sums: T, chunk: int):
    c = wt.tid()
    total = x[c * chunk]
    for k in range(c * chunk + 1, wt.min((c + 1) * chunk, x.shape[0])):
        total += x[k]
    sums[c] = total
"""

_SCAN_CHUNKS = """
def scan_elements(x: T, sums: T, out: T, chunk: int, inclusive: int):
    c = wt.tid()
    total = x[0] - x[0]
    for k in range(c):
        total += sums[k]
    for k in range(c * chunk, wt.min((c + 1) * chunk, x.shape[0])):
        if inclusive != 0:
            total += x[k]
            out[k] = total
        else:
            out[k] = total
            total += x[k]
"""


def _reduced(who, term, arrays, out, axis, dtype):
    """Sums `term` over an axis, or over everything; returns the array of sums."""
    shape, ndim = arrays[0].shape, arrays[0].ndim
    for a in arrays[1:]:
        if a.shape != shape:
            raise ArgumentValueError(
                f"{who}: the arrays have shapes {shape} and {a.shape}", code="WT618"
            )
    ids = _IDS[:ndim]
    if axis is None:
        target, left = "0", (1,)
    else:
        if not -ndim <= axis < ndim:
            raise ArgumentValueError(
                f"{who}: axis {axis} of an array of {ndim} dimensions", code="WT616"
            )
        summed = axis % ndim
        target = ", ".join("0" if n == summed else ids[n] for n in range(ndim))
        left = tuple(1 if n == summed else shape[n] for n in range(ndim))
    if out is None:
        out = _zeros(arrays[0], dtype, left, any(a.requires_grad for a in arrays))
    elif out.shape != left or out.dtype != dtype:
        raise ArgumentValueError(
            f"{who}: out has shape {out.shape} and dtype {_types.type_name(out.dtype)}, wanted "
            f"{left} and {_types.type_name(dtype)}",
            code="WT618",
        )
    else:
        out.zero_()
    element = [f"a{n}[{', '.join(ids)}]" for n in range(len(arrays))]
    text = _SUM.format(
        params=", ".join(f"a{n}: T{n}" for n in range(len(arrays))),
        ids=", ".join(ids),
        target=target,
        term=term.format(*element),
    )
    named = tuple((f"T{n}", _types.ArrayType(a.dtype, ndim)) for n, a in enumerate(arrays))
    made = _kernel(text, (*named, ("R", _types.ArrayType(dtype, out.ndim))))
    launch(made, dim=shape, inputs=[*arrays, out])
    return out


def _total(sums):
    """The one element, as Python has it."""
    value = sums.numpy()[0]
    return sums.dtype._wrap(value) if hasattr(sums.dtype, "family") else value.item()


def _first(a, count, who):
    if count is None:
        return a
    if not 0 <= count <= a.shape[0]:
        raise ArgumentValueError(
            f"{who}: a count of {count} for {a.shape[0]} elements", code="WT617"
        )
    return a[:count]


def array_sum(values, out=None, value_count=None, axis=None):
    """The sum of all elements, or over one axis.

    Args:
        values: an array.
        out: the array to write: of one element, or of the array's shape with 1 at the axis.
        value_count: sums only that many leading elements.
        axis: the axis to sum over.

    Returns:
        A number without ``out`` and ``axis``, else the array of sums.
    """
    values = _first(values, value_count, "array_sum()")
    sums = _reduced("array_sum()", "{0}", [values], out, axis, values.dtype)
    return _total(sums) if out is None and axis is None else sums


def array_inner(a, b, out=None, count=None, axis=None):
    """The sum of products of elements; of vectors, of their dot products. See ``array_sum``."""
    a, b = _first(a, count, "array_inner()"), _first(b, count, "array_inner()")
    family = getattr(a.dtype, "family", None)
    dot = {None: "{0} * {1}", "mat": "wt.ddot({0}, {1})"}
    term = dot.get(family, "wt.dot({0}, {1})")
    sums = _reduced("array_inner()", term, [a, b], out, axis, component_type(a.dtype))
    return _total(sums) if out is None and axis is None else sums


def array_scan(in_array, out_array, inclusive=True):
    """Running sums: ``out[k]`` is the sum of ``in[0..k]``, without ``in[k]`` if not inclusive."""
    who = "array_scan()"
    if in_array.ndim != 1 or in_array.shape != out_array.shape:
        raise ArgumentValueError(
            f"{who}: wanted two arrays of one dimension and the same length, got shapes "
            f"{in_array.shape} and {out_array.shape}",
            code="WT618",
        )
    if in_array.dtype != out_array.dtype:
        raise ArgumentTypeError(f"{who}: the arrays have different dtypes", code="WT619")
    n = in_array.shape[0]
    if n == 0:
        return
    chunk = max(1, math.isqrt(n))
    chunks = -(-n // chunk)
    objects = (("T", _types.ArrayType(in_array.dtype, 1)),)
    sums = _zeros(in_array, in_array.dtype, chunks, in_array.requires_grad)
    launch(_kernel(_CHUNK_SUMS, objects), dim=chunks, inputs=[in_array, sums, chunk])
    inputs = [in_array, sums, out_array, chunk, int(inclusive)]
    launch(_kernel(_SCAN_CHUNKS, objects), dim=chunks, inputs=inputs)
