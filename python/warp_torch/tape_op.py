# SPDX-License-Identifier: Apache-2.0
# tape_op.py: tape_op() makes one PyTorch op of a Python function of several launches.
"""Functions of launches as ops. PyTorch sees three ops for each kind of arguments: the function;
the function recorded, whose last result is a ticket for its record; and its backward. The record is
only a cache: where the ticket has been copied, or values have changed since, backward runs the
function again."""

from __future__ import annotations

import ast
import hashlib
import inspect
import itertools
import threading
import typing
import weakref

import numpy as np
import torch

from warp_torch import _C, interop
from warp_torch import types as _types
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError
from warp_torch.host_data import element_dtype
from warp_torch.region import Region, run_plain

__all__ = ["TapeOp", "tape_op"]

_NAMESPACE = "warp_torch"
_KINDS = {bool: "bool", int: "SymInt", float: "float", str: "str"}
_names = set()
_ticket_numbers = itertools.count(1)
_tickets = weakref.WeakValueDictionary()  # number -> _Ticket


class _Ticket(np.ndarray):
    """The memory of a ticket tensor: the record lives as long as that."""

    @classmethod
    def tensor(cls, region):
        """A tensor that keeps a region."""
        own = np.array([next(_ticket_numbers)], dtype=np.int64).view(cls)
        own.region = region
        _tickets[int(own[0])] = own
        weakref.finalize(own, region.close)
        return torch.from_numpy(own)


def _region_of(ticket):
    own = _tickets.get(int(ticket[0]))
    return None if own is None else own.region


class _Shape:
    """The shape and dtype of one result, from those of the arguments."""

    def __init__(self, who, entry, names):
        self.who, self.names = who, names
        self.like = entry if isinstance(entry, str) and entry in names else None
        dtype = None
        if isinstance(entry, tuple) and len(entry) == 2 and not isinstance(entry[1], (int, str)):
            entry, dtype = entry
        self.dtype, self.parts = self._element(dtype)
        entry = (entry,) if isinstance(entry, (int, str)) else entry
        self.sizes = [self._parsed(e) for e in entry]

    def _element(self, dtype):
        if dtype is None or isinstance(dtype, torch.dtype):
            return dtype, ()
        t = element_dtype(dtype)
        return interop.dtype_to_torch(t), tuple(t.shape) if hasattr(t, "family") else ()

    def _parsed(self, text):
        try:
            tree = ast.parse(str(text).strip(), mode="eval").body
        except SyntaxError:
            tree = None
        if tree is None or not self._known(tree):
            raise ArgumentValueError(
                f"{self.who}, outputs: {text!r} is no size; wanted an int or an expression of "
                f"name.shape[k], {', '.join(self.names)}, and + - * //",
                code="WT803",
            )
        return tree

    def _known(self, e):
        if isinstance(e, ast.BinOp):
            return type(e.op) in _OPERATORS and self._known(e.left) and self._known(e.right)
        if isinstance(e, ast.Constant):
            return isinstance(e.value, int)
        if isinstance(e, ast.Name):
            return e.id in self.names
        return (
            isinstance(e, ast.Subscript)
            and isinstance(e.value, ast.Attribute)
            and e.value.attr == "shape"
            and self._known(e.value.value)
            and isinstance(e.slice, ast.Constant)
        )

    def _value(self, e, given):
        if isinstance(e, ast.BinOp):
            return _OPERATORS[type(e.op)](self._value(e.left, given), self._value(e.right, given))
        if isinstance(e, ast.Constant):
            return e.value
        if isinstance(e, ast.Name):
            return given[e.id]
        return given[e.value.value.id].shape[e.slice.value]

    def new(self, given):
        """An uninitialised tensor of that shape; ``given``: arguments by name."""
        tensors = [v for v in given.values() if isinstance(v, torch.Tensor)]
        first = next((t for t in tensors if t.is_floating_point()), tensors[0] if tensors else None)
        like = given.get(self.like)
        if isinstance(like, torch.Tensor):
            return torch.empty(like.shape, dtype=like.dtype, device=like.device)
        shape = [self._value(e, given) for e in self.sizes]
        return torch.empty(
            (*shape, *self.parts),
            dtype=self.dtype or (first.dtype if first is not None else torch.float32),
            device=first.device if first is not None else "cpu",
        )


_OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
}


class _Last(torch.autograd.Function):
    """Gradients that depend on tensors in a way that cannot be differentiated: says so there."""

    @staticmethod
    def forward(ctx, who, count, *tensors):
        ctx.who = who
        return tuple(t.view_as(t) for t in tensors[:count])

    @staticmethod
    def backward(ctx, *_):
        raise GradientError(
            f"{ctx.who}: tape_op() has no second derivatives; those of one kernel are in "
            "kernel_op(), those of a time loop in rollout()",
            code="WT653",
        )


class _Eager(threading.local):
    """Inside it, PyTorch counts the changes of results."""

    on = False

    def __enter__(self):
        self.on = True

    def __exit__(self, *exc):
        self.on = False


_eager = _Eager()


class _Node(torch.autograd.Function):
    """The graph node of a call."""

    @staticmethod
    def forward(ctx, variant, keys, *args):
        wanted = [n and isinstance(a, torch.Tensor) for n, a in zip(ctx.needs_input_grad[2:], args)]
        with torch._C._AutoDispatchBelowAutograd(), _eager:
            *out, ticket = variant.recorded.redispatch(keys, *args, wanted)
        ctx.variant, ctx.wanted = variant, wanted
        ctx.rest = [None if isinstance(a, torch.Tensor) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.places], ticket)
        ctx.mark_non_differentiable(*[t for t in out if not t.is_floating_point()])
        ctx.set_materialize_grads(False)
        return tuple(out)

    @staticmethod
    def backward(ctx, *grads):
        none = (None,) * len(ctx.needs_input_grad)
        if all(g is None for g in grads):
            return none
        *tensors, ticket = ctx.saved_tensors
        args = list(ctx.rest)
        for i, t in zip(ctx.places, tensors):
            args[i] = t
        made = iter(ctx.variant.backward(list(grads), *args, ticket, ctx.wanted))
        return (None, None, *(next(made) if w else None for w in ctx.wanted))


class _Variant:
    """The registered ops for one kind of arguments."""

    def __init__(self, op, kinds):
        self.op, self.kinds, self.who = op, kinds, f"tape_op({op.__name__})"
        base = self.name = _unique_name(op, kinds)
        arguments = [f"{kind} a{i}" for i, kind in enumerate(kinds)]
        lib = torch.library.Library(_NAMESPACE, "FRAGMENT")
        _libraries.append(lib)
        tags = [torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides]
        if hasattr(torch.Tag, "cudagraph_unsafe"):
            tags.append(torch.Tag.cudagraph_unsafe)
        given = ", ".join(arguments)
        for name, schema, run, fake, derive in (
            (base, f"({given}) -> Tensor[]", self.run, self.fake, self.autograd),
            (
                f"{base}_recorded",
                f"({', '.join((*arguments, 'bool[] wanted'))}) -> Tensor[]",
                self.run_recorded,
                self.fake_recorded,
                None,
            ),
            (
                f"{base}_backward",
                f"({', '.join(('Tensor?[] cotangents', *arguments, 'Tensor ticket'))}, "
                "bool[] wanted) -> Tensor[]",
                self.run_backward,
                self.fake_backward,
                self.autograd_of_backward,
            ),
        ):
            lib.define(name + schema, tags=tags)
            lib.impl(name, run, "CompositeExplicitAutograd")
            torch.library.register_fake(f"{_NAMESPACE}::{name}", fake, lib=lib)
            torch.library.register_vmap(f"{_NAMESPACE}::{name}", self._batched(name), lib=lib)
            if derive is not None:
                lib.impl(name, derive, "Autograd", with_keyset=True)
        space = getattr(torch.ops, _NAMESPACE)
        self.forward = getattr(space, base).default
        self.recorded = getattr(space, f"{base}_recorded").default
        self.backward = getattr(space, f"{base}_backward").default

    # What runs

    def run(self, *args):
        """The function, nothing recorded."""
        made = run_plain(self.who, self.op.function, args, self.op.converted)
        return self._checked(made, args)

    def run_recorded(self, *args):
        """The function's results, then the ticket of its record."""
        *args, wanted = args
        region = self._region(args, wanted)
        # Handed over: PyTorch makes the node that keeps the ticket their history.
        results, region.results = self._checked(region.results, args), None
        if not _eager.on:  # compiled code uses the memory of what it was given for other values
            results = [r.clone() for r in results]
        return [*results, _Ticket.tensor(region)]

    def run_backward(self, cotangents, *args):
        """The gradients of the wanted arguments."""
        *args, ticket, wanted = args
        region, own = _region_of(ticket), None
        if region is None or not region.is_current():
            region = own = self._region(args, wanted)
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        try:
            with region.lock:
                made = iter(region.backward(cotangents))
        finally:
            if own is not None:
                own.close()
        kept = [next(made) for _ in tensors]
        by_place = iter(kept)
        out = []
        for a, w in zip(args, wanted):
            g = next(by_place) if isinstance(a, torch.Tensor) else None
            if w:
                new = torch.zeros if g is None else torch.empty
                out.append(new(a.shape, dtype=a.dtype, device=a.device) if g is None else g)
        return out

    def _region(self, args, wanted):
        with _autograd_keys():
            return Region(self.who, self.op.function, args, wanted, self.op.converted)

    def _checked(self, made, args):
        """The results, after a look whether they are as said."""
        shapes = self.op.shapes
        if shapes is None:
            return made
        said = [s.new(self.op.named([_meta(a) for a in args])) for s in shapes]
        if len(said) != len(made) or any(
            tuple(a.shape) != tuple(b.shape) or a.dtype is not b.dtype for a, b in zip(said, made)
        ):
            raise ArgumentValueError(
                f"{self.who}: the function returned {_described(made)}, outputs= says "
                f"{_described(said)}",
                code="WT805",
            )
        return made

    # What PyTorch asks of an op

    def fake(self, *args):
        """Results without values."""
        return self.op.fake_results(args)

    def fake_recorded(self, *args):
        return [*self.fake(*args[:-1]), torch.empty(1, dtype=torch.int64, device="cpu")]

    def fake_backward(self, cotangents, *args):
        *args, _, wanted = args
        kept = [a for a, w in zip(args, wanted) if w]
        return [torch.empty(a.shape, dtype=a.dtype, device=a.device) for a in kept]

    def autograd(self, keys, *args):
        _refuse_tangents(self.who, args)
        if torch.is_grad_enabled() and _needs_gradient(args):
            return list(_apply(_Node, self, keys & torch._C._after_autograd_keyset, *args))
        with torch._C._AutoDispatchBelowAutograd():
            return self.forward.redispatch(keys & torch._C._after_autograd_keyset, *args)

    def autograd_of_backward(self, keys, cotangents, *args):
        tensors = [t for t in (*cotangents, *args[:-2]) if isinstance(t, torch.Tensor)]
        _refuse_tangents(self.who, tensors)
        with torch._C._AutoDispatchBelowAutograd():
            out = self.backward.redispatch(
                keys & torch._C._after_autograd_keyset, cotangents, *args
            )
        if torch.is_grad_enabled() and _needs_gradient(tensors):
            return list(_apply(_Last, self.who, len(out), *out, *tensors))
        return out

    def _batched(self, name):
        """vmap: one call an entry."""

        def rule(info, in_dims, *args):
            op = getattr(getattr(torch.ops, _NAMESPACE), name).default
            rows = [
                op(*[_entry(a, d, b) for a, d in zip(args, in_dims)])
                for b in range(info.batch_size)
            ]
            return [torch.stack(column) for column in zip(*rows)], [0] * len(rows[0])

        return rule


_libraries = []  # they stay: PyTorch keeps pointers to what they register


def _entry(value, dim, number):
    """Entry ``number`` of a batched argument."""
    if isinstance(value, (list, tuple)):
        dims = dim if isinstance(dim, (list, tuple)) else [dim] * len(value)
        return [_entry(v, d, number) for v, d in zip(value, dims)]
    return value if dim is None or value is None else value.select(dim, number)


def _unique_name(op, kinds):
    text = "\n".join([op.source, repr(op.options), repr(kinds)])
    name = f"{op.__name__}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    number = 1
    while name in _names:
        number += 1
        name = f"{name.rpartition('_n')[0] or name}_n{number}"
    _names.add(name)
    return name


def _apply(function, *args):
    """Function.apply where torch.func may be at work: the node then belongs to its level."""
    apply = super(torch.autograd.Function, function).apply
    if not torch._C._are_functorch_transforms_active():
        return apply(*args)
    with torch._functorch.autograd_function.enable_single_level_autograd_function():
        return apply(*args)


def _needs_gradient(args):
    return any(isinstance(a, torch.Tensor) and a.requires_grad for a in args)


def _refuse_tangents(who, args):
    if torch.autograd.forward_ad._current_level < 0:
        return
    for a in args:
        if isinstance(a, torch.Tensor) and torch._C._functorch is not None:
            if torch.autograd.forward_ad.unpack_dual(a).tangent is not None:
                raise NotImplementedError(
                    f"{who}: tape_op() has no forward mode; kernel_op() and rollout() have"
                )


def _autograd_keys():
    """PyTorch operations inside an op are recorded again."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutogradCPU)
    for k in ("AutogradCUDA", "AutogradFunctionality", "ADInplaceOrView", "AutogradOther"):
        keys = keys | torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, k))
    include = torch._C._dispatch_tls_local_include_set()
    exclude = torch._C._dispatch_tls_local_exclude_set()
    return torch._C._ForceDispatchKeyGuard(include, exclude - keys)


def _meta(value):
    return value.to("meta") if isinstance(value, torch.Tensor) else value


def _described(tensors):
    return "(" + ", ".join(f"{tuple(t.shape)} of {t.dtype}" for t in tensors) + ")"


class TapeOp:
    """What ``tape_op`` returns: call it with the function's arguments.

    Attributes:
        function: the function.
    """

    def __init__(self, function, outputs, fake):
        if not callable(function) or getattr(function, "wt_kind", None) == "kernel":
            raise ArgumentTypeError(
                f"tape_op(): got {function!r}, wanted a function that launches kernels; of one "
                "kernel, kernel_op() makes an op",
                code="WT601",
            )
        self.function, self.options = function, (outputs, fake is not None)
        self.__name__ = "".join(
            c if c.isalnum() else "_" for c in getattr(function, "__name__", "function")
        )
        self.__doc__ = function.__doc__
        try:
            self.source = inspect.getsource(function)
        except (OSError, TypeError):
            self.source = f"{getattr(function, '__module__', '')}.{self.__name__}"
        self.signature = inspect.signature(function)
        self._types = self._array_types()
        names = list(self.signature.parameters)
        who = f"tape_op({self.__name__})"
        if outputs is not None and fake is not None:
            raise ArgumentValueError(f"{who}: give outputs= or fake=, not both", code="WT604")
        entries = [outputs] if isinstance(outputs, (str, int)) else outputs
        self.shapes = None if entries is None else [_Shape(who, e, names) for e in entries]
        self._fake = fake
        self._variants, self._names = {}, {}
        self._lock = threading.Lock()
        self._single = None  # whether the function returns one value, not a tuple

    def _array_types(self):
        """The parameters annotated as arrays, by position; they are handed over as such."""
        try:
            hints = typing.get_type_hints(self.function)
        except Exception:  # noqa: BLE001 - annotations that mean nothing here
            hints = getattr(self.function, "__annotations__", {})
        found = {}
        for i, name in enumerate(self.signature.parameters):
            hint = hints.get(name)
            if isinstance(hint, _types.ArrayType):
                found[i] = hint.dtype
        return found

    def converted(self, args):
        """Arguments as the function takes them."""
        if not self._types:
            return args
        return [
            interop.from_torch(a, self._types[i])
            if i in self._types and isinstance(a, torch.Tensor)
            else a
            for i, a in enumerate(args)
        ]

    def named(self, args):
        """Arguments by name."""
        return dict(zip(self.signature.parameters, args))

    def fake_results(self, args):
        """What the function returns, without values: for compilation."""
        if self.shapes is not None:
            given = self.named(args)
            return [s.new(given) for s in self.shapes]
        if self._fake is None:
            raise ArgumentValueError(
                f"tape_op({self.__name__}): compiled code has to know the shapes of the results; "
                'say outputs=["x", ("x.shape[0]", 3)], one entry a result, or fake=, a function '
                "of the same arguments that returns empty tensors",
                code="WT803",
            )
        made = self._fake(*args)
        return list(made) if isinstance(made, (list, tuple)) else [made]

    def _kinds(self, args):
        out = []
        for a in args:
            if isinstance(a, torch.Tensor):
                out.append("Tensor")
            elif a is None:
                out.append("Tensor?")
            elif isinstance(a, torch.SymInt):
                out.append("SymInt")
            elif type(a) in _KINDS:
                out.append(_KINDS[type(a)])
            else:
                raise ArgumentTypeError(
                    f"tape_op({self.__name__}): got a {type(a).__name__}; arguments are tensors, "
                    "numbers, strings and None, others belong into the function's closure",
                    code="WT802",
                )
        return tuple(out)

    def _variant(self, kinds):
        with self._lock:
            made = self._variants.get(kinds)
            if made is None:
                made = self._variants[kinds] = _Variant(self, kinds)
                self._names[kinds] = made.name
            return made

    @torch._dynamo.assume_constant_result
    def _make(self, kinds):
        self._variant(kinds)

    def __call__(self, *args, **kwargs):
        if kwargs or len(args) != len(self.signature.parameters):
            bound = self.signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args = tuple(bound.arguments.values())
        kinds = self._kinds(args)
        if torch.compiler.is_compiling():
            self._make(kinds)
            name = self._names[kinds]  # looked up, so that Dynamo guards it
            out = getattr(torch.ops.warp_torch, name).default(*args)
        elif _C.recording():  # its launches are those of the tape that records
            made = self.function(*self.converted(args))
            out = made if isinstance(made, (list, tuple)) else [made]
            out = [interop.to_torch(r) if isinstance(r, _C.Array) else r for r in out]
        else:
            out = self._variant(kinds).forward(*args)
        return out[0] if len(out) == 1 else tuple(out)

    def __repr__(self):
        return f"<tape_op {self.__name__}{self.signature}>"


def tape_op(function=None, *, outputs=None, fake=None):
    """A PyTorch op from a Python function that launches several kernels; also a decorator.

    The function is called with tensors, or with arrays for parameters annotated so
    (``x: array(dtype=vec3)``), and returns arrays or tensors. It may launch kernels, make arrays,
    call ops and rollouts and PyTorch's own operations. What it computes from arguments that require
    a gradient has one, whatever its arrays say. Arguments must not be changed in place, and tensors
    that require a gradient must be arguments. Second derivatives and forward mode are refused;
    vmap runs the function once for each entry.

    Args:
        function: the function.
        outputs: for ``torch.compile`` and ``torch.export``, one entry a result: the name of an
            argument that it is like; a size or a tuple of sizes, ints or expressions over
            ``name.shape[k]``; or ``(sizes, dtype)``.
        fake: instead, a function of the same arguments that returns empty tensors.

    Raises:
        GradientError: a gradient would be lost, or is asked for where there is none.
    """
    if function is None:
        return lambda f: TapeOp(f, outputs, fake)
    return TapeOp(function, outputs, fake)
