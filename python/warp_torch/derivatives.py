# SPDX-License-Identifier: Apache-2.0
# derivatives.py: derivatives of one kernel as functions: jvp, vjp, hvp, jacobian.
"""Derivatives of a launch, by name, without changing any of its arguments.

Each function takes the kernel's arguments as ``launch`` does (a list in order, or a dict by name)
and works on copies. Results are new arrays; tensors where the arguments are tensors, numbers where
they are numbers. The fields of a struct ``s`` are arguments of their own, called ``s.field``.
"""

from __future__ import annotations

import numpy as np
import torch

from warp_torch import _C, interop
from warp_torch import types as _types
from warp_torch.array import array
from warp_torch.array_making import clone, ones_like, zeros_like
from warp_torch.errors import ArgumentTypeError, ArgumentValueError
from warp_torch.jacobian_colors import compressed
from warp_torch.kernel import is_differentiable
from warp_torch.tape import Tape

__all__ = ["hvp", "jacobian", "jvp", "vjp"]


_NUMERIC = ("f16", "f32", "f64", "vec<", "mat<", "quat<", "xform<")


def element_of(text):
    """The dtype in "array<dtype,ndim>"."""
    return _types.from_text(text[len("array<") : text.rindex(",")])


class Problem:
    """A launch whose arguments are copies: arrays, and for numbers arrays of one element.

    Attributes:
        kernel: the compiled kernel in which numbers that have derivatives are arrays.
        args: the copies, by name.
        active: names that can carry derivatives.
        written: names of those that the kernel writes, read: of those that it reads.
    """

    def __init__(self, who, kernel, inputs, dim):
        if getattr(kernel, "wt_kind", None) != "kernel":
            raise ArgumentTypeError(
                f"{who}(): got {kernel!r}, wanted what @kernel made", code="WT508"
            )
        given = self._in_order(who, kernel, inputs)
        self.given = dict(zip(kernel.params, given))
        compiled = kernel.specialise(given)
        info = compiled.params()
        if any(p["type"].startswith("struct<") for p in info):
            compiled, info = self._by_fields(compiled)
        self.types = {p["name"]: p["type"] for p in info}
        self.names = list(self.types)
        self.info = {p["name"]: p for p in info}
        numeric = [p["type"].startswith(_NUMERIC) and is_differentiable(p["type"]) for p in info]
        self.kernel = compiled.with_array_values(numeric) if any(numeric) else compiled
        self.active = [p["name"] for p in info if is_differentiable(p["type"])]
        arrays = {p["name"]: p for p in info if p["type"].startswith("array")}
        writes = {n for n, p in arrays.items() if p["stores"] or p["adds"] or p["atomics"]}
        self.written = [n for n in self.active if n in writes]
        self.read = [n for n in self.active if n not in arrays or not _write_only(arrays[n])]
        self.who = who
        self.renew()
        self.dim = self._range(who, compiled, arrays, dim)

    @staticmethod
    def _in_order(who, kernel, inputs):
        names = kernel.params
        if isinstance(inputs, dict):
            unknown = set(inputs) - set(names)
            missing = [n for n in names if n not in inputs]
            if unknown or missing:
                raise ArgumentValueError(
                    f"{who}(): {kernel.key} takes {', '.join(names)}; got {', '.join(inputs)}",
                    code="WT651",
                )
            return [inputs[n] for n in names]
        if len(inputs) != len(names):
            raise ArgumentValueError(
                f"{who}(): got {len(inputs)} arguments, {kernel.key} takes {', '.join(names)}",
                code="WT651",
            )
        return list(inputs)

    def _by_fields(self, compiled):
        """The kernel that takes the fields of structs, which are arguments called "s.field"."""
        compiled, paths = compiled.with_struct_fields()
        given = {}
        for path in paths:
            value = self.given[path[0]]
            for field in path[1:]:
                value = getattr(value, field)
            given[".".join(path)] = value
        self.given = given
        return compiled, [{**p, "name": n} for n, p in zip(given, compiled.params())]

    def renew(self):
        """Fresh copies of the arguments, as a launch may have changed them."""
        copies, seen = {}, {}
        for name, value in self.given.items():
            if id(value) in seen:  # one array given twice stays one
                copies[name] = copies[seen[id(value)]]
                continue
            copies[name] = self._copy(name, value)
            if isinstance(copies[name], _C.Array):
                seen[id(value)] = name
        self.args = copies

    def _copy(self, name, value):
        if self.types[name].startswith("array"):
            if value is None:
                return None
            if isinstance(value, torch.Tensor):
                dtype = element_of(self.types[name])
                value = interop.from_torch(value.detach(), dtype=dtype)
            if not isinstance(value, _C.Array):
                raise ArgumentTypeError(
                    f"{self.who}(): {name} is a {type(value).__name__}, not an array", code="WT651"
                )
            return clone(value, requires_grad=name in self.active)
        if name not in self.active:
            return value
        dtype = _types.from_text(self.types[name])
        return array([_number(value)], dtype=dtype, device=self._device(), requires_grad=True)

    def _device(self):
        for v in self.given.values():
            if isinstance(v, _C.Array):
                return v.device_name
            if isinstance(v, torch.Tensor) and v.dim():
                return interop.device_from_torch(v.device).alias
        return None

    def _range(self, who, compiled, arrays, dim):
        if dim is not None:
            return dim
        out = []
        for d in range(compiled.launch_dims):
            sizes = [
                self.args[n].shape[d]
                for n, p in arrays.items()
                if p["tid_dims"] > d and self.args[n] is not None
            ]
            if not sizes:
                raise ArgumentValueError(
                    f"{who}(): no argument is indexed by the bare thread index, so the range is "
                    "not known; give dim=",
                    code="WT651",
                )
            out.append(sizes[0])
        return tuple(out)

    def tangent_kernel(self):
        """The kernel of primals and, after all of them, the tangents of the active ones."""
        names = list(self.given)
        return self.kernel.tangent([n in self.active for n in names])

    def run(self, kernel, args):
        """Launches on the current stream."""
        _C.launch(kernel, self.dim, list(args), None, "cpu", None, True)

    def taken(self, what, values, names):
        """The caller's arrays for some names, checked, as our arrays."""
        for name in values:
            if name not in names:
                raise ArgumentValueError(
                    f"{self.who}(): {what} for {name!r}; they can be given for {', '.join(names)}",
                    code="WT651",
                )
        out = {}
        for name, value in values.items():
            like = self.args[name]
            if isinstance(value, torch.Tensor):
                value = interop.from_torch(value.detach().contiguous(), dtype=like.dtype)
            elif not isinstance(value, _C.Array):
                data = np.reshape(value, like.numpy().shape)
                value = array(data, dtype=like.dtype, device=like.device_name)
            if value.shape != like.shape or value.dtype != like.dtype:
                raise ArgumentValueError(
                    f"{self.who}(): {what} of {name!r} is {value!r}, wanted one like {like!r}",
                    code="WT651",
                )
            out[name] = value
        return out

    def result(self, name, a):
        """An array as the caller's kind of argument."""
        given = self.given[name]
        if isinstance(given, torch.Tensor):
            return interop.to_torch(a).reshape(given.shape)
        return a if self.types[name].startswith("array") else a.list()[0]


def _write_only(p):
    return not p["loads"] and not p["adds"] and not p["atomics"]


def _number(value):
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().numpy()
    return value


def jvp(kernel, inputs, tangents, dim=None):
    """Derivative along a direction: ``J v``, in forward mode.

    Args:
        kernel: what @kernel made.
        inputs: its arguments, in order or by name. None of them is changed.
        tangents: ``{name: v}`` of arguments; those left out are zero.
        dim: the launch range; that of the arguments indexed by the thread if not given.

    Returns:
        ``{name: tangent}`` of the arrays that the kernel writes.
    """
    p = Problem("jvp", kernel, inputs, dim)
    given = p.taken("a tangent", tangents, p.active)
    moved = directions(p, given)
    p.run(p.tangent_kernel(), [*p.args.values(), *moved.values()])
    return {n: p.result(n, moved[n]) for n in p.written}


def directions(p, given):
    """One tangent array an active argument; copies, as the kernel changes those of outputs."""
    out, seen = {}, {}
    for n in p.active:
        key = id(p.args[n])
        if p.args[n] is None:
            out[n] = None
            continue
        if key not in seen:
            seen[key] = (
                clone(given[n], requires_grad=False)
                if n in given
                else zeros_like(p.args[n], requires_grad=False)
            )
        elif n in given:
            raise ArgumentValueError(
                f"jvp(): {n!r} is the same array as another argument", code="WT651"
            )
        out[n] = seen[key]
    return out


def vjp(kernel, inputs, cotangents, dim=None):
    """Derivative against a direction: ``J^T w``, in reverse mode.

    Args:
        kernel, inputs, dim: see ``jvp``.
        cotangents: ``{name: w}`` of arrays that the kernel writes; those left out are zero.

    Returns:
        ``{name: gradient}`` of the arguments that the kernel reads.
    """
    p = Problem("vjp", kernel, inputs, dim)
    given = p.taken("a cotangent", cotangents, p.written)
    with Tape() as tape:
        p.run(p.kernel, p.args.values())
    if given:
        tape.backward(grads={p.args[n]: w for n, w in given.items()})
    return {n: p.result(n, p.args[n].grad) for n in p.read if p.args[n] is not None}


def hvp(kernel, inputs, v, dim=None):
    """Second derivative along a direction, ``H v``, of the sum of everything the kernel writes.

    Args:
        kernel, inputs, dim: see ``jvp``.
        v: ``{name: direction}`` of arguments; those left out are zero.

    Returns:
        ``{name: H v}`` of the arguments that the kernel reads.
    """
    p = Problem("hvp", kernel, inputs, dim)
    moved = directions(p, p.taken("a direction", v, p.read))
    for n in p.active:
        moved[n] = clone(moved[n], requires_grad=True)
    with Tape() as tape:
        p.run(p.tangent_kernel(), [*p.args.values(), *moved.values()])
    tape.backward(grads={moved[n]: ones_like(moved[n], requires_grad=False) for n in p.written})
    return {n: p.result(n, p.args[n].grad) for n in p.read}


def jacobian(kernel, inputs, wrt=None, dim=None):
    """All first derivatives, in forward mode.

    A kernel whose threads touch nothing but their own elements takes one launch a component of an
    element; one that reads elements near its own (a stencil) as many as an element has neighbours;
    any other one a launch for each number in the arguments.

    Args:
        kernel, inputs, dim: see ``jvp``.
        wrt: names of the arguments to differentiate by; all that the kernel reads if not given.

    Returns:
        ``{(written, argument): matrix}``: NumPy arrays of one row a number in the array that is
        written and one column a number in the argument.
    """
    p = Problem("jacobian", kernel, inputs, dim)
    wrt = list(p.read if wrt is None else wrt)
    for name in wrt:
        if name not in p.read:
            raise ArgumentValueError(
                f"jacobian(): {name!r} is none of {', '.join(p.read)}, which have derivatives",
                code="WT651",
            )
    out = {}
    for name in wrt:
        _fill(p, name, out)
    return out


def _fill(p, name, out):
    """All columns of one argument."""
    size = p.args[name].numpy().size

    def columns(direction):
        return _column(p, name, direction)

    made = None if _own_element_seeds(p, name) else compressed(p, name, columns)
    if made is not None:
        out.update({(n, name): m for n, m in made.items()})
        return
    for n in p.written:
        out[n, name] = np.zeros((p.args[n].numpy().size, size), _numbers(p.args[n]).dtype)
    for seed in _own_element_seeds(p, name) or [[k] for k in range(size)]:
        _fill_columns(p, name, seed, out)


def _numbers(a):
    return a.numpy().reshape(-1)


def _own_element_seeds(p, name):
    """Columns that share no row: one number of every element. None where threads may meet."""
    info = p.info
    arrays = [i for n, i in info.items() if n in p.active and i["type"].startswith("array")]
    shape = p.args[name].shape
    whole = np.prod(shape) == np.prod(p.dim)
    if not info[name]["type"].startswith("array") or not whole:
        return None
    if any(i["tid_dims"] != len(shape) or p.args[i["name"]].shape != shape for i in arrays):
        return None
    parts = p.args[name].numpy().size // max(1, int(np.prod(shape)))
    return [range(c, p.args[name].numpy().size, parts) for c in range(parts)]


def _column(p, name, direction):
    """{written: J direction}: one launch."""
    like = p.args[name]
    v = array(direction.reshape(like.numpy().shape), dtype=like.dtype, device=like.device_name)
    p.renew()
    moved = directions(p, {name: v})
    p.run(p.tangent_kernel(), [*p.args.values(), *moved.values()])
    return {n: _numbers(moved[n]).copy() for n in p.written}


def _fill_columns(p, name, seed, out):
    """One launch along the sum of the seed's columns; its rows are told apart by their element."""
    direction = np.zeros_like(_numbers(p.args[name]))
    direction[list(seed)] = 1
    made = _column(p, name, direction)
    for n in p.written:
        column = made[n]
        if len(seed) == 1:
            out[n, name][:, seed[0]] = column
            continue
        rows = column.size // len(seed)
        for i, k in enumerate(seed):
            out[n, name][i * rows : (i + 1) * rows, k] = column[i * rows : (i + 1) * rows]
