# SPDX-License-Identifier: Apache-2.0
# rollout.py: rollout() makes one PyTorch op of a step kernel that is run T times.
"""A simulation of T steps as one op, with its gradient."""

from __future__ import annotations

import importlib

import torch
from torch.utils.checkpoint import checkpoint as _torch_checkpoint

from warp_torch import _C
from warp_torch.errors import ArgumentTypeError, ArgumentValueError
from warp_torch.op import KernelOp

__all__ = ["Rollout", "rollout"]

_AUTO_SEGMENT = 8


class _FusedKernel:
    """The kernel with the time loop, as KernelOp wants one."""

    wt_kind = "kernel"

    def __init__(self, step, compiled):
        self.key = f"{step.key}_rollout"
        self.params = tuple(p["name"] for p in compiled.params())
        self._compiled = compiled

    def specialise(self, args=None):
        return self._compiled


class Rollout:
    """What ``rollout`` returns: call it with the initial carry, per-step inputs and parameters.

    Attributes:
        fused: whether the time loop is inside one kernel.
        why_not_fused: why it is not, or "".
        op: the KernelOp behind it: of all steps if fused, of one step if not.
        arguments, results: names in order.
    """

    def __init__(self, step, steps, carry, per_step, outputs, checkpoint, dim):
        if getattr(step, "wt_kind", None) != "kernel":
            raise ArgumentTypeError(
                f"rollout(): got {step!r}, wanted what @kernel made", code="WT508"
            )
        self.step = step
        self.steps = steps
        self.carry = dict(carry)
        self.per_step = (per_step,) if isinstance(per_step, str) else tuple(per_step)
        shapes = dict(outputs) if isinstance(outputs, dict) else {}
        self.outputs = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        self.checkpoint = _segment(checkpoint)
        self._options = (steps, self.carry, self.per_step, outputs, checkpoint, dim)
        self._compiled = step.specialise()
        self._info = {p["name"]: p for p in self._compiled.params()}
        self._check()
        self._dim = dim
        # An output named by a carry is its value after each step.
        after = {**{k: k for k in self.carry}, **{v: k for k, v in self.carry.items()}}
        self._states = {n: after[n] for n in self.outputs if n in after}
        self._written = tuple(n for n in self.outputs if n not in after)
        self._after = tuple(v for k, v in self.carry.items() if v != k)
        kernel, self.why_not_fused = self._fuse()
        self.fused = kernel is not None
        self.arguments = tuple(
            n for n in step.params if n not in self._after and n not in self._written
        )
        self.results = (*self.carry.values(), *self.outputs)
        self._make_op(kernel, shapes)

    def _check(self):
        who = f"rollout({self.step.key})"
        if not self.carry:
            raise ArgumentValueError(
                f"{who}: carry is empty; name what one step hands to the next, "
                'such as carry={"q": "q_next"}',
                code="WT810",
            )
        roles = [
            *((n, "carry") for n in self.carry),
            *((n, "carry") for k, n in self.carry.items() if n != k),
            *((n, "per_step") for n in self.per_step),
            *((n, "outputs") for n in self.outputs),
        ]
        seen = {}
        for name, role in roles:
            info = self._info.get(name)
            if info is None:
                raise ArgumentValueError(
                    f"{who}, {role}: no parameter {name!r}; there are "
                    f"{', '.join(self.step.params)}",
                    code="WT810",
                )
            if not info["type"].startswith("array<"):
                raise ArgumentTypeError(
                    f"{who}, {role}: {name!r} is of type {info['type']}, wanted an array",
                    code="WT810",
                )
            if name in seen and not (seen[name] == "carry" and role == "outputs"):
                raise ArgumentValueError(
                    f"{who}: {name!r} is named in {seen[name]} and in {role}", code="WT810"
                )
            seen.setdefault(name, role)
        for name, info in self._info.items():
            self._check_writes(who, name, info, seen.get(name))

    def _check_writes(self, who, name, info, role):
        writes = info["stores"] or info["adds"] or info["atomics"]
        if role == "carry":
            before = name in self.carry
            in_place = before and self.carry[name] == name
            if before and writes and not in_place:
                raise ArgumentValueError(
                    f"{who}: the step writes {name!r}, which it takes from the step before; "
                    f"for a step that works in place say carry={{{name!r}: {name!r}}}",
                    code="WT810",
                )
            if not writes and (in_place or not before):
                raise ArgumentValueError(
                    f"{who}, carry: the step does not write {name!r}", code="WT810"
                )
            if before and self._info[self.carry[name]]["type"] != info["type"]:
                raise ArgumentTypeError(
                    f"{who}, carry: {name!r} is of type {info['type']}, {self.carry[name]!r} of "
                    f"type {self._info[self.carry[name]]['type']}",
                    code="WT810",
                )
        elif role == "per_step" and writes:
            raise ArgumentValueError(f"{who}, per_step: the step writes {name!r}", code="WT810")
        elif role == "outputs" and (not writes or info["loads"] or info["atomics"]):
            raise ArgumentValueError(
                f"{who}, outputs: {name!r} is {'read' if writes else 'not written'} by the step; "
                "an output is an array that it only writes, or a carry",
                code="WT810",
            )
        elif role is None and writes:
            raise ArgumentValueError(
                f"{who}: the step writes {name!r}; name it in carry or in outputs", code="WT810"
            )

    def _fuse(self):
        position = {n: i for i, n in enumerate(self.step.params)}
        carry = [
            (position[k], position[v], k in self._states.values()) for k, v in self.carry.items()
        ]
        return _C.fuse_rollout(
            self._compiled,
            carry,
            [position[n] for n in self.per_step],
            [position[n] for n in self._written],
            self.checkpoint,
        )

    def _make_op(self, kernel, shapes):
        self._own_shapes = {k: shapes[k] for k in self._written if k in shapes}
        if not self.fused:
            self.op = KernelOp(self.step, self._dim, self._own_shapes)
            return
        time = f"{self.per_step[0]}.shape[0]" if self.per_step else "num_steps"
        first = next(iter(self.carry))
        space = [f"{first}.shape[{d}]" for d in range(_ndim(self._info[first]["type"]))]
        given = {}
        for name in self._written:
            own = shapes.get(name, space)
            own = (own,) if isinstance(own, (int, str)) else tuple(own)
            given[name] = (time, *own)
        for name in self._states.values():
            given[f"{name}_steps"] = (time, *space)
        self.op = KernelOp(_FusedKernel(self.step, kernel), self._dim, given)
        finals = [v if v != k else f"{k}_final" for k, v in self.carry.items()]
        steps = [f"{self._states[n]}_steps" if n in self._states else n for n in self.outputs]
        self._order = [self.op.results.index(n) for n in (*finals, *steps)]

    def __call__(self, *args, steps=None, **kwargs):
        """The final carry, then the outputs with a leading dimension of length T.

        Args:
            args, kwargs: the step's parameters less those that only hold results; per-step arrays
                with a leading dimension of length T.
            steps: T, if there is no per-step array to tell it.
        """
        given = self.ordered(args, kwargs)
        count = self.count(given, steps)
        if not self.fused:
            return self._step_by_step(given, count)
        values = [given[n] for n in self.op.arguments if n != "num_steps"]
        out = self.op(*values) if self.per_step else self.op(*values, count)
        if len(self._order) == 1:
            return out
        return tuple(out[i] for i in self._order)

    def ordered(self, args, kwargs):
        """The arguments of a call by name."""
        if len(args) > len(self.arguments):
            raise ArgumentValueError(
                f"rollout({self.step.key})(): got {len(args)} arguments, wanted "
                f"{', '.join(self.arguments)}",
                code="WT801",
            )
        given = dict(zip(self.arguments, args))
        for name, value in kwargs.items():
            if name in given or name not in self.arguments:
                raise ArgumentValueError(
                    f"rollout({self.step.key})(): argument {name!r} is "
                    f"{'given twice' if name in given else 'unexpected'}",
                    code="WT801",
                )
            given[name] = value
        for name in self.arguments:
            if name not in given:
                raise ArgumentValueError(
                    f"rollout({self.step.key})(): argument {name!r} is missing", code="WT801"
                )
        return given

    def count(self, given, steps):
        """T, after a look at the shapes that the kernel could not check."""
        who = f"rollout({self.step.key})()"
        if steps is None:
            steps = self.steps
        first = given[next(iter(self.carry))]
        for name in self.per_step:
            x = given[name]
            ndim = _ndim(self._info[name]["type"]) + 1
            if not isinstance(x, torch.Tensor) or x.dim() < ndim:
                raise ArgumentValueError(
                    f"{who}: {name!r} is given per step, so it has a leading dimension of time and "
                    f"{ndim} dimensions (components apart)",
                    code="WT811",
                )
            if steps is None:
                steps = x.shape[0]
            if x.shape[0] != steps:
                raise ArgumentValueError(
                    f"{who}: {name!r} has {x.shape[0]} steps, wanted {steps}", code="WT811"
                )
            for d in range(self._info[name]["tid_dims"]):
                if isinstance(first, torch.Tensor) and x.shape[1 + d] != first.shape[d]:
                    raise ArgumentValueError(
                        f"{who}: {name!r} has size {x.shape[1 + d]} in dimension {1 + d}, the "
                        f"carry {first.shape[d]}",
                        code="WT811",
                    )
        if steps is None:
            raise ArgumentValueError(
                f"{who}: the number of steps is unknown; give steps=", code="WT811"
            )
        if steps < 0:
            raise ArgumentValueError(f"{who}: got {steps} steps", code="WT811")
        return steps

    def _step_by_step(self, given, count):
        """One launch a step, each an op of its own."""
        state = [given[k] for k in self.carry]
        if count == 0:
            return self._results(tuple(s.clone() for s in state), self._empty_outputs(given))
        size = self.checkpoint if self.checkpoint > 1 and torch.is_grad_enabled() else count
        pieces = []
        for begin in range(0, count, size):
            end = min(begin + size, count)
            if size == count:
                state, out = self._some_steps(given, begin, end, *state)
            else:
                state, out = _torch_checkpoint(
                    self._some_steps, given, begin, end, *state, use_reentrant=False
                )
            pieces.append(out)
        outputs = [torch.cat(p) if len(p) > 1 else p[0] for p in zip(*pieces)]
        return self._results(tuple(state), outputs)

    def _some_steps(self, given, begin, end, *state):
        outputs = [[] for _ in self.outputs]
        for t in range(begin, end):
            out = self._one_step(given, t, state)
            for kept, name in zip(outputs, self.outputs):
                kept.append(out[self.carry.get(name, name)])
            state = tuple(out[v] for v in self.carry.values())
        return state, tuple(torch.stack(o) for o in outputs)

    def _one_step(self, given, t, state):
        values = {n: x[t] if n in self.per_step else x for n, x in given.items()}
        return self.one_step({**values, **dict(zip(self.carry, state))}, self.op)

    def step_op(self):
        """An op of one step."""
        return KernelOp(self.step, self._dim, self._own_shapes) if self.fused else self.op

    def one_step(self, values, op):
        """One step with what step_op() made: results by name from arguments by name."""
        given = []
        for name in op.arguments:
            if name in values:
                given.append(values[name])
            else:  # A carry's end that the step reads back: it starts at zero.
                before = next(k for k, v in self.carry.items() if v == name)
                given.append(torch.zeros_like(values[before]))
        out = op(*given)
        return dict(zip(op.results, out if isinstance(out, tuple) else (out,)))

    @property
    def environment_dims(self):
        """Leading dimensions of the carry that tell threads apart."""
        return self._info[next(iter(self.carry))]["tid_dims"]

    def launch_range(self, values):
        """The range of one step's launch, where that of the carry is it; else None."""
        first = values[next(iter(self.carry))]
        dims = self.environment_dims
        return tuple(first.shape[:dims]) if dims and self._dim is None else None

    def _empty_outputs(self, given):
        """No steps: results of length 0, shaped as one step would shape them."""
        with torch.no_grad():
            one = {
                n: x.new_zeros((1, *x.shape[1:])) if n in self.per_step else x
                for n, x in given.items()
            }
            out = self._one_step(one, 0, [given[k] for k in self.carry])
            return [
                out[self.carry.get(n, n)].new_empty((0, *out[self.carry.get(n, n)].shape))
                for n in self.outputs
            ]

    def _results(self, state, outputs):
        out = (*state, *outputs)
        return out[0] if len(out) == 1 else out

    def __reduce__(self):
        return (_rebuild, (self.step.__module__, self.step.__qualname__, self._options))

    def __repr__(self):
        how = "one kernel" if self.fused else "one launch a step"
        return f"<rollout {self.step.key}({', '.join(self.arguments)}), {how}>"


def _ndim(array_type):
    """Dimensions of "array<f32,2>"."""
    return int(array_type[:-1].rsplit(",", 1)[1])


def _segment(checkpoint):
    if checkpoint == "auto":
        return _AUTO_SEGMENT
    if checkpoint is None:
        return 1
    if isinstance(checkpoint, bool) or not isinstance(checkpoint, int) or checkpoint < 1:
        raise ArgumentValueError(
            f'rollout(checkpoint={checkpoint!r}): wanted "auto", None or a number of steps',
            code="WT602",
        )
    return checkpoint


def _rebuild(module, name, options):
    """Unpickles: the kernel by its import path."""
    target = importlib.import_module(module)
    for part in name.split("."):
        target = getattr(target, part)
    return Rollout(target, *options)


def rollout(step, steps=None, *, carry, per_step=(), outputs=(), checkpoint="auto", dim=None):
    """A PyTorch op that runs a step kernel T times.

    Where each thread of the step touches only its own elements of what is carried, the loop over
    time is inside one kernel, forward and backward. Elsewhere each step is a launch of its own;
    ``fused`` and ``why_not_fused`` say which, and the results are the same.

    Args:
        step: what @kernel made.
        steps: T; if not given, it is the length of the per-step inputs, or said in the call. It may
            change from call to call.
        carry: ``{value at a step's start: value at its end}``, names of array parameters; the same
            name twice for one that the step changes in place.
        per_step: names of arrays given for each step, with a leading dimension of length T.
        outputs: names of arrays to return for each step: carries (the value after the step), or
            arrays that the step only writes; as a dict, with the shape for one step where that is
            not the launch range.
        checkpoint: every how many steps the state is kept for the gradient; those between are run
            again. None keeps every state.
        dim: the launch range, if it does not follow from the inputs.

    Raises:
        ArgumentValueError: a name that is no parameter or does not fit its place.
    """
    return Rollout(step, steps, carry, per_step, outputs, checkpoint, dim)
