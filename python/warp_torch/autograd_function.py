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


# Tensors lend their memory to _C as they are; those of old PyTorch versions through a capsule.
_LENT = _C.lends_memory(torch.Tensor)


def _packed(t, components):
    """The tensor with its components together, as a kernel reads them."""
    n, step = len(components), 1
    for i in reversed(range(n)):
        if components[i] > 1 and t.stride(t.dim() - n + i) != step:
            return t.contiguous()
        step *= components[i]
    return t


def _array(t, p):
    """A tensor as the array of a parameter."""
    if p["components"]:
        t = _packed(t, p["components"])
    if t.is_neg():
        t = t.resolve_neg()
    return t if _LENT else _capsule(t, p["element"])


def _capsule(t, element):
    return _C.from_capsule(torch.utils.dlpack.to_dlpack(t.detach()), element)


def _flat(t):
    return t if t is None or _LENT else _capsule(t, "")


class _Variant:
    """A kernel with some numbers given as tensors: what does not change from call to call."""

    def __init__(self, host):
        self.host, self.params = host, host.params
        self.refusal, self.has_tape, self.dim_checks = host.refusal, host.has_tape, host.dim_checks
        for p in self.params:
            p["dtype"], p["parts"] = TORCH_DTYPES[p["scalar"]], tuple(p["components"])
            p["dims"] = (0 if p["value"] else p["ndim"]) + len(p["parts"])
        roles = [p["role"] for p in self.params]
        self.arguments = [i for i, r in enumerate(roles) if r not in ("output", "sum")]
        self.results = [i for i, r in enumerate(roles) if r in ("output", "sum", "state")]
        self.differentiable = [p["differentiable"] for p in self.params]


class _Call:
    """The arguments of one call, by parameter, checked."""

    def __init__(self, who, variant, args):
        self.who, self.variant = who, variant
        self.device = None
        params, n = variant.params, len(variant.params)
        self.tensors, self.sizes = [None] * n, [[] for _ in params]
        self.floats, self.ints = [0.0] * n, [0] * n
        for i, value in zip(variant.arguments, args):
            role = params[i]["role"]
            if role == "float":
                self.floats[i] = float(value)
            elif role in ("int", "bool"):
                self.ints[i] = int(value)
            else:
                self._take(params[i], i, value)
        self.dim, self.shapes, self.tape_bytes = variant.host.shapes(self.sizes, self.ints)
        for p, axis, d in variant.dim_checks:
            if self.sizes[p] and self.sizes[p][axis] != self.dim[d]:
                raise ArgumentValueError(
                    f"{who}(): argument {params[p]['name']!r} has size {self.sizes[p][axis]} in "
                    f"dimension {axis}, the launch range is {self.dim[d]}",
                    code="WT802",
                )

    def _take(self, p, i, t):
        if t is None and p["optional"]:
            return
        name, dtype, parts, dims = p["name"], p["dtype"], p["parts"], p["dims"]
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
        size = list(t.shape)
        if len(size) != dims or (parts and tuple(size[dims - len(parts) :]) != parts):
            raise ArgumentValueError(
                f"{self.who}(): argument {name!r} has shape {tuple(size)}, wanted {dims} "
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
        self.tensors[i], self.sizes[i] = t, size

    def new(self, make, shape, dtype):
        return make(shape, dtype=dtype, device=self.device)

    def bytes(self, count):
        """Memory from PyTorch, or None if none is needed."""
        return self.new(torch.empty, (count,), torch.uint8) if count else None


def _forward(ctx, op, variant, args):
    call = _Call(op.kernel.key, variant, args)
    out, arrays = {}, []
    for i, (p, t) in enumerate(zip(variant.params, call.tensors)):
        if p["role"] == "state":
            t = out[i] = t.detach().clone(memory_format=torch.contiguous_format)
        elif p["role"] in ("output", "sum"):
            make = torch.zeros if p["needs_zero"] else torch.empty
            t = out[i] = call.new(make, call.shapes[i], p["dtype"])
        arrays.append(None if t is None else _array(t, p))
    needs = any(ctx.needs_input_grad[2:])
    if needs and variant.refusal is not None:
        raise refused(variant.refusal)
    tape = call.bytes(max(call.tape_bytes, 1)) if needs and variant.has_tape else None
    variant.host.forward(arrays, call.floats, call.ints, call.dim, _flat(tape))
    if needs:
        call.missing = [a is None for a in arrays]  # optional ones, and numbers
        ctx.call = call
        ctx.save_for_backward(
            *[
                (None, t, out.get(i))[p["adjoint_reads"]]
                for i, (p, t) in enumerate(zip(variant.params, call.tensors))
            ],
            tape,
        )
    call.tensors = None
    ctx.mark_non_differentiable(*[t for i, t in out.items() if not variant.differentiable[i]])
    ctx.set_materialize_grads(False)
    return tuple(out.values())


class _Backward:
    """One run of the adjoint."""

    def __init__(self, ctx, grads):
        self.call, self.variant = ctx.call, ctx.call.variant
        *self.tensors, self.tape = ctx.saved_tensors
        n = len(self.variant.params)
        self.grads, self.wanted = [None] * n, [False] * n
        for i, g in zip(self.variant.results, grads):
            self.grads[i] = g
        for i, needs in zip(self.variant.arguments, ctx.needs_input_grad[2:]):
            self.wanted[i] = needs and self.variant.differentiable[i]

    def _shape(self, i):
        return self.call.shapes[i] if i in self.call.shapes else self.call.sizes[i]

    def _mask(self):
        mask = [int(w) for w in self.wanted]
        for i, d in enumerate(self.variant.differentiable):
            if d and self.variant.has_tape:
                mask[i] = 1
        for i in self.variant.results:
            mask[i] = int(self.variant.differentiable[i])
        return mask

    def _buffer(self, i, p, flags):
        """Derivative memory of parameter ``i``: a cotangent that may be used up, or zeros."""
        g = self.grads[i]
        if g is not None:
            own = flags & _CHANGES or p["role"] == "state"
            return g.clone(memory_format=torch.contiguous_format) if own else g
        shape, n = self._shape(i), p["ndim"]
        covered = flags & _OVERWRITES and list(shape[:n]) == self.call.dim[:n]
        return self.call.new(torch.empty if covered else torch.zeros, shape, p["dtype"])

    def _header(self, i, p):
        """The kernel's view of an argument or result; shape alone where values are not read."""
        if self.call.missing[i]:
            return None
        t = self.tensors[i]
        return self._shape(i) if t is None else _array(t, p)

    def run(self):
        call, params, host = self.call, self.variant.params, self.variant.host
        arrays = [self._header(i, p) for i, p in enumerate(params)]
        mask, numbers = self._mask(), (call.floats, call.ints, call.dim)
        scratch, flags = host.plan_adjoint(arrays, *numbers, mask)
        buffers = [self._buffer(i, p, flags[i]) if mask[i] else None for i, p in enumerate(params)]
        derivatives = [None if b is None else _array(b, p) for b, p in zip(buffers, params)]
        host.adjoint(arrays, *numbers, derivatives, _flat(self.tape), _flat(call.bytes(scratch)))
        return [buffers[i] if self.wanted[i] else None for i in self.variant.arguments]


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
    def forward(ctx, op, tensors, *args):
        return _forward(ctx, op, op._variant(tensors), args)

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
            made = self._variants[tensors] = _Variant(self.host(tensors))
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
