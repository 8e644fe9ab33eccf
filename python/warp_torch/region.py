# SPDX-License-Identifier: Apache-2.0
# region.py: one run of a Python function of launches whose gradient PyTorch asks for: a tape for
# the launches, PyTorch's own graph for the operations between them, and the joints of the two.
"""What a tape_op runs: the function's launches on a tape, PyTorch operations beside them."""

from __future__ import annotations

import threading

import torch
from torch.overrides import TorchFunctionMode

from warp_torch import _C, interop
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError
from warp_torch.tape import Tape

__all__ = ["Region", "run_plain"]


_VIEWS = ("T", "mT", "H", "mH", "real", "imag", "data")  # attributes that are operations
_NO_OPERATIONS = ("data_ptr", "detach", "increment_version", "is_contiguous", "size", "stride")


def _is_query(func):
    """True for what PyTorch shows its function modes and is no operation on values."""
    name = getattr(func, "__name__", "")
    attribute = name in ("__get__", "__set__") and func.__self__.__name__ not in _VIEWS
    return attribute or name in _NO_OPERATIONS


def _tensors_in(values):
    """The tensors among arguments, also in lists and dicts of them."""
    for v in values:
        if isinstance(v, torch.Tensor):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from _tensors_in(v)
        elif isinstance(v, dict):
            yield from _tensors_in(v.values())


def _replaced(value, change):
    """The same arguments with ``change(t)`` for each tensor."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_replaced(v, change) for v in value)
    if isinstance(value, dict):
        return {k: _replaced(v, change) for k, v in value.items()}
    return value


def _refuse_captured(who, t):
    raise GradientError(
        f"{who}: the function uses a tensor of shape {tuple(t.shape)} that requires a gradient and "
        "is not an argument, so its gradient would be lost; pass it as an argument, or detach() it",
        code="WT625",
    )


class _Strangers(TorchFunctionMode):
    """Refuses tensors from outside that require a gradient, where none is recorded."""

    def __init__(self, who):
        super().__init__()
        self.who = who

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if torch.is_grad_enabled() and not _is_query(func):
            for t in _tensors_in((*args, *(kwargs or {}).values())):
                if t.requires_grad:
                    _refuse_captured(self.who, t)
        return func(*args, **(kwargs or {}))


class _Watch(TorchFunctionMode):
    """Sees the PyTorch operations of a region."""

    def __init__(self, region):
        super().__init__()
        self.region = region

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return self.region.pytorch_call(func, args, kwargs or {})


def results_of(who, made):
    """What a function returned, as a tuple of tensors and arrays."""
    made = tuple(made) if isinstance(made, (list, tuple)) else (made,)
    for r in made:
        if not isinstance(r, (torch.Tensor, _C.Array)):
            raise ArgumentTypeError(
                f"{who}: the function returned a {type(r).__name__}, wanted arrays or tensors",
                code="WT805",
            )
    return made


def _plain(t):
    """An argument's values without history, as kernels read them."""
    return t.detach().resolve_conj().resolve_neg().contiguous()


def _fresh(tensors, arguments):
    """Contiguous tensors that share memory neither with arguments nor with each other."""
    seen = {a.untyped_storage().data_ptr() for a in arguments}
    out = []
    for t in tensors:
        t = t.detach().contiguous()
        memory = t.untyped_storage().data_ptr()
        if t.numel() and memory in seen:
            t = t.clone(memory_format=torch.contiguous_format)
        seen.add(t.untyped_storage().data_ptr())
        out.append(t)
    return out


def run_plain(who, fn, args, convert):
    """The results of the function with nothing recorded."""
    given = [_plain(a) if isinstance(a, torch.Tensor) else a for a in args]
    before = [a._version if isinstance(a, torch.Tensor) else 0 for a in given]
    with _Strangers(who):
        made = results_of(who, fn(*convert(given)))
    _refuse_changed(who, given, before)
    tensors = [interop.to_torch(r, False) if isinstance(r, _C.Array) else r for r in made]
    return _fresh(tensors, [a for a in given if isinstance(a, torch.Tensor)])


def _refuse_changed(who, given, before):
    for i, (a, version) in enumerate(zip(given, before)):
        if isinstance(a, torch.Tensor) and not a.is_inference() and a._version != version:
            raise ArgumentValueError(
                f"{who}: the function changed argument {i} in place; let it write into a copy",
                code="WT805",
            )


class _Tape(Tape):
    """The tape of a region, which tells interop.py of the region while it records."""

    def __init__(self, region):
        super().__init__()
        self.region = region
        self.spread_gradients()

    def _start(self):
        super()._start()
        interop.open_region(self.region)

    def _stop(self):
        interop.close_region(self.region)
        super()._stop()


class _Alias:
    """A tensor that launches have written, as PyTorch operations see it at one time: a leaf."""

    def __init__(self, tensor, array):
        self.leaf = tensor.detach().requires_grad_()
        self.array = array

    def transfer(self):
        """What PyTorch's graph has brought to the leaf goes to the array's gradient."""
        g, self.leaf.grad = self.leaf.grad, None
        if g is not None:
            interop.to_torch(self.array.grad, False).view(g.shape).add_(g)


class Region:
    """A function that has run, and its backward.

    Attributes:
        results: contiguous tensors without history, one a result.
    """

    def __init__(self, who, fn, args, wanted, convert):
        self.who = who
        self.lock = threading.Lock()  # two backwards of one record take turns
        self.arrays = {}  # id of a tensor -> (tensor, array, version when a launch first saw it)
        self.aliases = {}  # (id, version) -> _Alias
        self.owners = {}  # id of an alias's leaf -> the tensor that it stands for
        self.given = [
            _plain(a).requires_grad_(w) if isinstance(a, torch.Tensor) else a
            for a, w in zip(args, wanted)
        ]
        self.leaves = {id(a): a for a in self.given if isinstance(a, torch.Tensor)}
        before = [a._version if isinstance(a, torch.Tensor) else 0 for a in self.given]
        self.tape = _Tape(self)
        try:
            self._run(who, fn, convert, before)
        except BaseException:
            self.close()
            raise

    def _run(self, who, fn, convert, before):
        for i, a in enumerate(self.given):
            if isinstance(a, torch.Tensor) and a.dim() <= 4:
                what = f"{who}: a launch writes into argument {i} of the function"
                self.tape.protect(interop.from_torch(a.detach()), what)
        with torch.enable_grad(), self.tape:
            with _Watch(self):
                made = results_of(who, fn(*convert(self.given)))
            _refuse_changed(who, self.given, before)
            self.outputs = [self._output(r) for r in made]
        tensors = [t for t, _ in self.outputs]
        self.results = _fresh(tensors, self.leaves.values())
        self.shared = [r.detach() for r in self.results]
        self.versions = [r._version for r in self.shared]

    def _output(self, r):
        """(tensor, array or None): an array if launches have made it, so that its cotangent goes to
        the tape; else its history is PyTorch's."""
        if isinstance(r, _C.Array):
            return interop.to_torch(r, False).detach(), r
        known = self.arrays.get(id(interop.owner_of(r)))
        if known is None or id(r) in self.leaves:
            return r, None
        return r.detach(), self._view(r, known[1].dtype)

    def _view(self, t, dtype):
        """A tensor as an array of a scalar type or of ``dtype``, where the shapes fit that."""
        try:
            return interop.from_torch(t, dtype)
        except (ArgumentTypeError, ArgumentValueError):
            return interop.from_torch(t)

    # While it records

    def owner_of(self, t):
        """The tensor whose memory ``t`` is, where ``t`` is a view of an alias of it."""
        return self.owners.get(id(t), t)

    def saw_tensor(self, owner, array):
        """A launch is given a tensor, or a view of it."""
        if id(owner) in self.leaves or id(owner) in self.arrays:
            return
        if owner.requires_grad and owner.is_leaf:
            _refuse_captured(self.who, owner)
        self.arrays[id(owner)] = (owner, array, owner._version)
        if owner.grad_fn is not None:
            self._join(owner, array)

    def saw_array(self, tensor, array):
        """An array is handed to PyTorch as a tensor."""
        self.arrays[id(tensor)] = (tensor, array, None)

    def _join(self, t, array):
        """From here back, what the tape brings to a tensor goes on in PyTorch's graph."""
        whole = self._view(t, array.dtype)
        whole.requires_grad = True

        def pass_on():
            g = interop.to_torch(whole.grad, False).view(t.shape)
            t.backward(g.clone(), retain_graph=True)
            whole.grad.zero_()

        self.tape.record(pass_on, [])

    def _alias(self, t):
        """The tensor that a PyTorch operation works on in place of ``t``."""
        known = self.arrays.get(id(t))
        if known is None or known[0] is not t:
            if t.requires_grad and t.is_leaf and id(t) not in self.leaves:
                if id(t) not in self.owners:
                    _refuse_captured(self.who, t)
            return t
        _, array, first = known
        version = array.version
        written = first is None or t._version != first
        if not written or array.grad_view() is None or not t.is_floating_point():
            return t
        alias = self.aliases.get((id(t), version))
        if alias is None:
            whole = array if first is None else self._view(t, array.dtype)
            whole.requires_grad = True
            alias = self.aliases[id(t), version] = _Alias(t, whole)
            self.owners[id(alias.leaf)] = t
            self.tape.record(alias.transfer, [])
        return alias.leaf

    def pytorch_call(self, func, args, kwargs):
        """A PyTorch operation: on aliases of what launches have written."""
        if _is_query(func):
            return func(*args, **kwargs)
        given = list(_tensors_in((*args, *kwargs.values())))
        seen = [t for t in given if id(t) in self.arrays]
        versions = [t._version for t in seen]
        if given and torch.is_grad_enabled():
            out = func(*_replaced(args, self._alias), **_replaced(kwargs, self._alias))
        else:
            out = func(*args, **kwargs)
        for t, version in zip(seen, versions):
            if t._version != version:
                raise GradientError(
                    f"{self.who}: {getattr(func, '__name__', func)} changes a tensor in place that "
                    "launches use; make the change in a kernel, or into another tensor",
                    code="WT625",
                )
        return out

    # Backward

    def is_current(self):
        """False if a result was changed since, so that its values are not those of the run."""
        return all(r._version == v for r, v in zip(self.shared, self.versions))

    def backward(self, cotangents):
        """Gradients of the tensor arguments that were wanted, None for no dependence."""
        pairs = []
        for (t, array), g in zip(self.outputs, cotangents):
            if g is None:
                continue
            if array is not None:
                if array.grad_view() is not None:
                    pairs.append((array, self._view(g.contiguous(), array.dtype)))
            elif t.requires_grad:
                t.backward(g.contiguous(), retain_graph=True)
        pairs += [(a.array, a.array.grad) for a in self.aliases.values() if a.leaf.grad is not None]
        if pairs:
            self.tape.run_backward(None, pairs)
        return self._collected()

    def _collected(self):
        out = []
        for a in self.leaves.values():
            g, a.grad = a.grad, None
            part = interop.tensor_gradient(self.tape, a)
            if part is not None:
                g = part.clone() if g is None else g + part
                part.zero_()
            out.append(g)
        return out

    def close(self):
        """Lets go of everything: the tape's entries and the region know each other."""
        self.tape._forget()
        self.arrays = self.aliases = self.owners = {}
        self.outputs = self.shared = self.given = ()
