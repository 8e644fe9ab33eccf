# SPDX-License-Identifier: Apache-2.0
# autograd_function.py: a kernel as a function with a gradient, for every PyTorch version.
"""Kernels in PyTorch code with or without the library for this PyTorch version. With it, calls are
those of the kernel's op. Without it, they are of a ``torch.autograd.Function`` over DLPack: slower,
and opaque to ``torch.compile``."""

from __future__ import annotations

import os

import torch

from warp_torch import _C
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError
from warp_torch.op import KernelOp, library_path
from warp_torch.op_arguments import TORCH_DTYPES, OpArguments, as_tensors, refused

__all__ = ["AutogradFunction", "autograd_function"]

_OVERWRITES, _CHANGES = 1, 2  # flags of OpHost.plan_adjoint


def _packed(t, components):
    """The tensor with its components together, as a kernel reads them."""
    n, step = len(components), 1
    for i in reversed(range(n)):
        if components[i] > 1 and t.stride(t.dim() - n + i) != step:
            return t.contiguous()
        step *= components[i]
    return t


class _Call:
    """The arguments of one call, by parameter, checked; and the kernel's view of them."""

    def __init__(self, who, host, params, args):
        self.who, self.host, self.params = who, host, params
        self.device = None
        n = len(params)
        self.tensors, self.sizes = [None] * n, [[] for _ in params]
        self.floats, self.ints = [0.0] * n, [0] * n
        values = iter(args)
        for i, p in enumerate(params):
            if p["role"] in ("output", "sum"):
                continue
            value = next(values)
            if p["role"] == "float":
                self.floats[i] = float(value)
            elif p["role"] in ("int", "bool"):
                self.ints[i] = int(value)
            else:
                self._take(i, value)
        self.dim, self.shapes, self.tape_bytes = host.shapes(self.sizes, self.ints)
        for p, axis, d in host.dim_checks:
            if self.sizes[p] and self.sizes[p][axis] != self.dim[d]:
                raise ArgumentValueError(
                    f"{who}(): argument {params[p]['name']!r} has size {self.sizes[p][axis]} in "
                    f"dimension {axis}, the launch range is {self.dim[d]}",
                    code="WT802",
                )

    def _take(self, i, t):
        p = self.params[i]
        if t is None and p["optional"]:
            return
        name, dtype = p["name"], TORCH_DTYPES[p["scalar"]]
        if not isinstance(t, torch.Tensor) or t.dtype is not dtype:
            got = f"a tensor of {t.dtype}" if isinstance(t, torch.Tensor) else type(t).__name__
            raise ArgumentTypeError(
                f"{self.who}(): argument {name!r} is {got}, wanted {dtype}", code="WT802"
            )
        if t.is_meta or type(t).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            raise ArgumentTypeError(
                f"{self.who}(): argument {name!r} is a {'meta tensor' if t.is_meta else type(t)}, "
                "which has no memory of its own, and there is no library for this PyTorch, which "
                "would take it",
                code="WT802",
            )
        parts = tuple(p["components"])
        dims = (0 if p["value"] else p["ndim"]) + len(parts)
        if t.dim() != dims or tuple(t.shape[dims - len(parts) :]) != parts:
            raise ArgumentValueError(
                f"{self.who}(): argument {name!r} has shape {tuple(t.shape)}, wanted {dims} "
                f"dimensions, the last of {parts}",
                code="WT802",
            )
        self.device = self.device or t.device
        if t.device != self.device:
            raise ArgumentValueError(
                f"{self.who}(): argument {name!r} is on {t.device}, the others are on "
                f"{self.device}",
                code="WT802",
            )
        self.tensors[i], self.sizes[i] = t, list(t.shape)

    def array(self, i, t):
        """A tensor as the array of parameter ``i``."""
        t = _packed(t.detach(), self.params[i]["components"]).resolve_neg()
        return _C.from_capsule(torch.utils.dlpack.to_dlpack(t), self.params[i]["element"])

    def new(self, make, shape, dtype):
        return make(shape, dtype=dtype, device=self.device)

    def bytes(self, count):
        """Memory from PyTorch, or None if none is needed."""
        return self.new(torch.empty, (count,), torch.uint8) if count else None


def _flat(t):
    return None if t is None else _C.from_capsule(torch.utils.dlpack.to_dlpack(t), "")


def _forward(ctx, op, variant, args):
    host, params = op._variant(variant)
    call = _Call(op.kernel.key, host, params, args)
    out, arrays = [], []
    for i, p in enumerate(params):
        t = call.tensors[i]
        if p["role"] == "state":
            t = t.detach().clone(memory_format=torch.contiguous_format)
        elif p["role"] in ("output", "sum"):
            make = torch.zeros if p["needs_zero"] else torch.empty
            t = call.new(make, call.shapes[i], TORCH_DTYPES[p["scalar"]])
        if p["role"] in ("output", "sum", "state"):
            out.append(t)
        arrays.append(None if t is None else call.array(i, t))
    needs = any(ctx.needs_input_grad[2:])
    if needs and host.refusal is not None:
        raise refused(host.refusal)
    tape = call.bytes(max(call.tape_bytes, 1)) if needs and host.has_tape else None
    host.forward(arrays, call.floats, call.ints, call.dim, _flat(tape))
    call.missing = {i for i, a in enumerate(arrays) if a is None}  # optional ones, and numbers
    ctx.op, ctx.variant, ctx.call = op, variant, call
    left = dict(zip((p["name"] for p in _results(params)), out))
    ctx.save_for_backward(
        *[(None, t, left.get(p["name"]))[p["adjoint_reads"]] for p, t in zip(params, call.tensors)],
        tape,
    )
    call.tensors = None
    kept = [t for p, t in zip(_results(params), out) if not p["differentiable"]]
    ctx.mark_non_differentiable(*kept)
    ctx.set_materialize_grads(False)
    return tuple(out)


def _results(params):
    return [p for p in params if p["role"] in ("output", "sum", "state")]


class _Backward:
    """One run of the adjoint."""

    def __init__(self, ctx, grads):
        self.call, self.host, self.params = ctx.call, ctx.call.host, ctx.call.params
        *tensors, self.tape = ctx.saved_tensors
        self.tensors = tensors
        by_result = iter(grads)
        self.grads = [next(by_result) if p in _results(self.params) else None for p in self.params]
        wanted = iter(ctx.needs_input_grad[2:])
        self.wanted = [
            next(wanted) and p["differentiable"] if p["role"] not in ("output", "sum") else False
            for p in self.params
        ]

    def _shape(self, i):
        return self.call.shapes[i] if i in self.call.shapes else self.call.sizes[i]

    def _mask(self, i, p):
        result = p["role"] in ("output", "sum", "state")
        return p["differentiable"] and (result or self.wanted[i] or self.host.has_tape)

    def _buffer(self, i, p, flags):
        """Derivative memory of parameter ``i``: a cotangent that may be used up, or zeros."""
        dtype, shape = TORCH_DTYPES[p["scalar"]], self._shape(i)
        g = self.grads[i]
        if g is not None:
            own = flags & _CHANGES or p["role"] == "state"
            return g.clone(memory_format=torch.contiguous_format) if own else g
        covered = flags & _OVERWRITES and list(shape[: p["ndim"]]) == self.call.dim[: p["ndim"]]
        return self.call.new(torch.empty if covered else torch.zeros, shape, dtype)

    def _header(self, i, p):
        """The kernel's view of an argument or result; shape alone where values are not read."""
        if i in self.call.missing:
            return None
        t = self.tensors[i]
        if t is None and p["ndim"]:
            t = self.call.new(torch.empty, (1,) * len(self._shape(i)), TORCH_DTYPES[p["scalar"]])
            t = (
                t.expand(self._shape(i)).contiguous()
                if p["components"]
                else t.expand(self._shape(i))
            )
        return None if t is None else self.call.array(i, t)

    def run(self):
        call, params = self.call, self.params
        arrays = [self._header(i, p) for i, p in enumerate(params)]
        mask = [int(self._mask(i, p)) for i, p in enumerate(params)]
        numbers = (call.floats, call.ints, call.dim)
        scratch, flags = self.host.plan_adjoint(arrays, *numbers, mask)
        buffers = [self._buffer(i, p, flags[i]) if mask[i] else None for i, p in enumerate(params)]
        derivatives = [None if b is None else call.array(i, b) for i, b in enumerate(buffers)]
        self.host.adjoint(
            arrays, *numbers, derivatives, _flat(self.tape), _flat(call.bytes(scratch))
        )
        return [
            buffers[i] if self.wanted[i] else None
            for i, p in enumerate(params)
            if p["role"] not in ("output", "sum")
        ]


class _Last(torch.autograd.Function):
    """Gradients that depend on tensors in a way that cannot be differentiated: says so there."""

    @staticmethod
    def forward(ctx, name, gradients, *depends_on):
        ctx.name = name
        return tuple(gradients)

    @staticmethod
    def backward(ctx, *_):
        raise GradientError(
            f"{ctx.name}(): autograd_function() has no second derivatives; kernel_op() has",
            code="WT653",
        )


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, op, variant, *args):
        return _forward(ctx, op, variant, args)

    @staticmethod
    def backward(ctx, *grads):
        if all(g is None for g in grads):
            return (None,) * len(ctx.needs_input_grad)
        with torch.no_grad():
            work = _Backward(ctx, grads)
            out = work.run()
        # What checkpointing saves may be asked for only once, so `work` is asked.
        known = (*grads, *work.tensors)
        depends_on = [t for t in known if t is not None and t.requires_grad]
        if depends_on and torch.is_grad_enabled():
            out = _Last.apply(ctx.call.who, out, *depends_on)
        return (None, None, *out)


class AutogradFunction(OpArguments):
    """What ``autograd_function`` returns: call it with tensors and numbers.

    Attributes:
        kernel: the kernel.
        op: the ``kernel_op`` that calls go to; None if no library is built for this PyTorch.
        forward_op, backward_op, schema: those of ``op``; None without it.
        function: the ``torch.autograd.Function`` subclass that calls go to without ``op``.
        arguments, results: names in order.
    """

    def __init__(self, kernel, dim=None, outputs=None, deterministic=None):
        super().__init__("autograd_function", kernel, dim, outputs, (), deterministic)
        self._variants = {}
        # Of a name that profiler and anomaly mode show.
        self.function = type(kernel.key, (_Function,), {"__doc__": kernel.__doc__})
        self.op = self.forward_op = self.backward_op = self.schema = None
        if os.path.exists(library_path()):
            self.op = op = KernelOp(kernel, dim, outputs, (), deterministic)
            self.forward_op, self.backward_op, self.schema = (
                op.forward_op,
                op.backward_op,
                op.schema,
            )

    def _variant(self, tensors):
        made = self._variants.get(tensors)
        if made is None:
            host = self.host(tensors)
            made = self._variants[tensors] = (host, host.params)
        return made

    def __call__(self, *args, **kwargs):
        if self.op is not None:
            return self.op(*args, **kwargs)
        if kwargs or len(args) != self._count:
            args = self.ordered(args, kwargs)
        if self._fields is not None:
            args = self.with_fields(args)
        if self._composite:
            args = self.with_composites(args)
        args = as_tensors(args) or args
        out = self.function.apply(self, self.tensors_among(args), *args)
        return out[0] if len(out) == 1 else out

    def __repr__(self):
        return f"<autograd_function {self.kernel.key}({', '.join(self.arguments)})>"


def autograd_function(kernel, dim=None, outputs=None, deterministic=None):
    """A kernel as a function with a gradient, for every PyTorch version.

    Arguments and results are those of ``kernel_op``; nothing is changed in place. Where a library
    is built for this PyTorch, it costs and can do what ``kernel_op`` does. Elsewhere it is a
    ``torch.autograd.Function`` for eager code: first derivatives in reverse mode only.

    Raises:
        ArgumentValueError: the launch range or a result's shape does not follow from the kernel.
    """
    return AutogradFunction(kernel, dim, outputs, deterministic)
