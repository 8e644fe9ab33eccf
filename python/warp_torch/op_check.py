# SPDX-License-Identifier: Apache-2.0
# op_check.py: config.check_grad for ops: the gradients that an op passes on, against finite
# differences of the op on a sample of elements.
"""Compares the backward of one call of an op with differences of its forward."""

from __future__ import annotations

import torch

from warp_torch.errors import GradientError

__all__ = ["watched"]

_SAMPLES = 6
_STEPS = {torch.float64: 1e-5, torch.float32: 4e-3, torch.float16: 6e-2, torch.bfloat16: 6e-2}
_ROUNDING = {torch.float64: 1e-16, torch.float32: 6e-8, torch.float16: 5e-4, torch.bfloat16: 4e-3}
_AGREEMENT = 2e-2  # of the larger derivative


def watched(op, forward, args, mutated=()):
    """Calls the registered op ``forward`` with ``args``; its backward will be compared.

    Args:
        mutated: places of the arguments that it changes.
    """
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return forward(*args)
    call = _Call(op, forward, args, mutated)  # before the arguments change
    made = forward(*args)
    results = _tensors_of(made) + [args[i] for i in mutated]
    node = next((r.grad_fn for r in results if r.grad_fn is not None), None)
    if node is not None:
        call.differentiable = [r.grad_fn is node for r in results]
        node.register_hook(call.compare)
    return made


def _tensors_of(made):
    made = made if isinstance(made, (tuple, list)) else (made,)
    return [r for r in made if isinstance(r, torch.Tensor)]


def _is_float(value):
    return isinstance(value, torch.Tensor) and value.dtype in _STEPS


class _Call:
    def __init__(self, op, forward, args, mutated):
        self.op, self.forward, self.mutated = op, forward, mutated
        self.args = [a.detach().clone() if isinstance(a, torch.Tensor) else a for a in args]
        self.active = [i for i, a in enumerate(args) if _is_float(a)]
        self.needed = [i for i in self.active if args[i].requires_grad]

    @torch.no_grad()
    def compare(self, gradients, cotangents):
        """A hook of the node: what it returned, and what it was given."""
        places = self.active if len(gradients) == len(self.active) else self.needed
        if len(gradients) != len(places):
            return
        weights = [None if c is None else c.double() for c in cotangents]
        base = self._results(self.args)
        for place, gradient in zip(places, gradients):
            if gradient is None:
                continue
            self._finite(place, gradient, cotangents)
            for k in _sample(gradient):
                self._compare_one(place, gradient, k, base, weights)

    def _results(self, args):
        args = [a.clone() if i in self.mutated else a for i, a in enumerate(args)]
        made = _tensors_of(self.forward(*args)) + [args[i] for i in self.mutated]
        return [r.double() for r, used in zip(made, self.differentiable) if used]

    def _finite(self, place, gradient, cotangents):
        given = all(c is None or bool(c.isfinite().all()) for c in cotangents)
        bad = (~gradient.isfinite()).nonzero()
        if given and len(bad):
            index = tuple(bad[0].tolist())
            self._report("WT311", place, index, f"is {gradient[index].item()}")

    def _compare_one(self, place, gradient, k, base, weights):
        x = self.args[place]
        at = tuple(int(i) for i in torch.unravel_index(torch.tensor(k), x.shape))
        value = x[at].item()
        h = _STEPS[x.dtype] * max(abs(value), 0.1)
        ends, values = [], []
        for moved in (value + h, value - h):
            args = list(self.args)
            args[place] = x.clone()
            args[place][at] = moved
            values.append(args[place][at].item())
            ends.append(self._results(args))
        if value in values:
            return
        noise = 0.0
        quotients = []
        for a, b, width in (
            (ends[0], base, values[0] - value),
            (base, ends[1], value - values[1]),
            (ends[0], ends[1], values[0] - values[1]),
        ):
            total = 0.0
            for w, p, q in zip(weights, a, b):
                if w is None:
                    continue
                change = torch.where(p == q, torch.zeros_like(p), w * (p - q))
                total += change.sum().item()
                size = torch.where(p == q, torch.zeros_like(p), w * p.abs().maximum(q.abs()))
                noise += _ROUNDING[x.dtype] * size.abs().sum().item()
            quotients.append(total / width)
        if quotients[2] - quotients[2] != 0:  # the step left the domain
            return
        found, low, high = gradient[at].item(), min(quotients[:2]), max(quotients[:2])
        slack = _AGREEMENT * max(abs(found), abs(low), abs(high)) + 16 * noise / h
        slack += 1e-6 * max(w.abs().max().item() for w in weights if w is not None and w.numel())
        if not low - slack <= found <= high + slack:
            self._report(
                "WT310",
                place,
                at,
                f"is {found:.6g} by the adjoint, and {quotients[2]:.6g} by finite differences",
            )

    def _report(self, code, place, index, what):
        code_object = self.op.kernel.pyfunc.__code__
        raise GradientError(
            f"kernel_op {self.op.kernel.key!r}: the gradient of {self.op._names[place]!r} at "
            f"{index} {what}",
            code=code,
            filename=code_object.co_filename,
            lineno=code_object.co_firstlineno,
        )


def _sample(gradient):
    """Places of some elements: first such whose gradient is not zero, spread evenly."""
    flat = gradient.reshape(-1)
    out = []
    for places in (flat.nonzero()[:, 0].tolist(), (flat == 0).nonzero()[:, 0].tolist()):
        step = max(1, len(places) // _SAMPLES)
        out += places[::step][: _SAMPLES - len(out)]
    return out
