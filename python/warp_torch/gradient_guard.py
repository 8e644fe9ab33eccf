# SPDX-License-Identifier: Apache-2.0
# gradient_guard.py: GradientGuard keeps steps with non-finite gradients from an optimizer;
# find_non_finite() says where in a rollout they come from.
"""Health of gradients in training through simulations."""

from __future__ import annotations

import contextlib
import dataclasses

import torch

from warp_torch import config
from warp_torch.derivatives import vjp
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError, KernelError
from warp_torch.rollout import Rollout

__all__ = ["GradientGuard", "NonFinite", "find_non_finite"]


class GradientGuard:
    """Steps an optimizer only where all gradients are finite, and counts.

    Use ``guard.step(optimizer)`` in the place of ``optimizer.step()``. With a loss that
    ``scaler`` (a ``torch.amp.GradScaler``) has scaled, the guard unscales, steps and updates it.

    Args:
        scaler: a GradScaler; None without one.
        max_norm: gradients are scaled to this total norm where theirs is larger.
        max_skips: how many steps in a row may be left out before an error is raised.

    Attributes:
        steps, skipped: how many were made and left out.
        skips_in_a_row: how many the last ones were.
        culprits: names (or numbers) of the parameters whose gradients were not finite at the last
            step that was left out.
    """

    def __init__(self, scaler=None, max_norm=None, max_skips=None):
        self.scaler, self.max_norm, self.max_skips = scaler, max_norm, max_skips
        self.steps = self.skipped = self.skips_in_a_row = 0
        self.culprits = ()
        self._norms, self._places, self._names = {}, {}, {}

    def name_parameters(self, module):
        """Names for ``culprits``: those of the parameters of a module."""
        self._names.update({id(p): n for n, p in module.named_parameters()})

    def step(self, optimizer):
        """``optimizer.step()`` if all gradients are finite; returns whether.

        Raises:
            GradientError: more than ``max_skips`` steps in a row were left out.
        """
        if self.scaler is not None:
            self.scaler.unscale_(optimizer)
        params = [p for group in optimizer.param_groups for p in group["params"]]
        bad = self._not_finite([p for p in params if p.grad is not None])
        if not bad and self.max_norm is not None:
            torch.nn.utils.clip_grad_norm_(params, self.max_norm)
        if self.scaler is not None:
            self.scaler.step(optimizer)  # it leaves out what unscale_() found
            self.scaler.update()
        elif not bad:
            optimizer.step()
        self._count(bad, params)
        return not bad

    def _not_finite(self, params):
        if not params:
            return ()
        flags = [p.grad.isfinite().all() for p in params]
        first = flags[0].device
        if bool(torch.stack([f.to(first) for f in flags]).all()):  # the one look at the device
            return ()
        return tuple(p for p, f in zip(params, flags) if not f)

    def _count(self, bad, params):
        if not bad:
            self.steps += 1
            self.skips_in_a_row = 0
            return
        self.skipped += 1
        self.skips_in_a_row += 1
        number = {id(p): i for i, p in enumerate(params)}
        self.culprits = tuple(self._names.get(id(p), number[id(p)]) for p in bad)
        if self.max_skips is not None and self.skips_in_a_row > self.max_skips:
            raise GradientError(
                f"GradientGuard.step(): gradients of {', '.join(map(str, self.culprits))} were not "
                f"finite in {self.skips_in_a_row} steps in a row; find_non_finite(rollout, ...) "
                "says where they come from",
                code="WT311",
            )

    def watch(self, per_step, name="per_step"):
        """Keeps the norm over each step of the gradient of a tensor with a leading dimension of
        time, such as controls of a rollout; see ``norms`` and ``first``. Returns the tensor."""
        if not isinstance(per_step, torch.Tensor) or per_step.dim() == 0:
            raise ArgumentTypeError(
                f"GradientGuard.watch(): got {per_step!r}, wanted a tensor with a leading "
                "dimension",
                code="WT601",
            )
        if per_step.requires_grad:
            per_step.register_hook(lambda g: self._saw(name, g))
        return per_step

    @torch.no_grad()
    def _saw(self, name, g):
        rows = g.detach().reshape(g.shape[0], -1)
        bad = ~rows.isfinite()
        self._norms[name] = torch.linalg.vector_norm(rows, dim=1)
        self._places[name] = (bad, g.shape[1:])

    def norms(self, name="per_step"):
        """One number a step: the norm of the gradient at the last backward, the horizon's start
        first."""
        return self._norms[name]

    def first(self, name="per_step"):
        """(step, index) where the last backward met a value that is not finite first, which is at
        the latest step with one; None if all were finite. The index begins with the
        environment's."""
        bad, shape = self._places[name]
        steps = bad.any(1).nonzero()
        if not len(steps):
            return None
        step = int(steps[-1])
        place = torch.unravel_index(bad[step].int().argmax(), shape)
        return step, tuple(int(i) for i in place)


@dataclasses.dataclass(frozen=True)
class NonFinite:
    """Where a rollout meets a value that is not finite first.

    Attributes:
        kind: "value" in the simulation, "gradient" on the way back.
        step: of the simulation, from 0.
        environment: index of the thread's element.
        name: the step's parameter, or that whose gradient it is.
        filename, lineno: of the kernel's statement; None where checks find no store of such a
            value.
        message: what the check says.
    """

    kind: str
    step: int
    environment: tuple
    name: str
    filename: str | None
    lineno: int | None
    message: str

    def __str__(self):
        where = f"{self.filename}:{self.lineno}: " if self.lineno else ""
        what = "the gradient of " if self.kind == "gradient" else ""
        return (
            f"{where}step {self.step}, environment {self.environment}: {what}{self.name!r} is not "
            "finite"
        )


@contextlib.contextmanager
def _checked():
    before = config.verify_fp
    config.verify_fp = True
    try:
        yield
    finally:
        config.verify_fp = before


class _Search:
    """The steps of a rollout, one by one."""

    def __init__(self, rollout, given, count):
        self.rollout, self.given, self.count = rollout, given, count
        self.ends, self.op = dict(rollout.carry), rollout.step_op()
        self.states = [[given[k].detach() for k in rollout.carry]]

    def arguments(self, t):
        """Values of step ``t`` by the parameter's name."""
        values = {k: v for k, v in zip(self.ends, self.states[t])}
        for name, value in self.given.items():
            if name in values:
                continue
            values[name] = value[t] if name in self.rollout.per_step else value
        return {n: v.detach() if isinstance(v, torch.Tensor) else v for n, v in values.items()}

    def forward(self):
        """The first value that is not finite; None if there is none."""
        for t in range(self.count):
            values = self.arguments(t)
            out = self.rollout.one_step(values, self.op)
            for name, r in out.items():
                place = _first(r)
                if place is not None:
                    return self.found("value", t, name, place, self.launched(values, None))
            self.states.append([out[v] for v in self.ends.values()])
        return None

    def backward(self, cotangents):
        """The first gradient that is not finite, going back in time."""
        ends = {
            v: cotangents.get(v, torch.ones_like(s) if not cotangents else torch.zeros_like(s))
            for v, s in zip(self.ends.values(), self.states[self.count])
        }
        for t in reversed(range(self.count)):
            values = {
                n: v.clone().requires_grad_() if _is_float(v) else v
                for n, v in self.arguments(t).items()
            }
            with torch.enable_grad():
                out = self.rollout.one_step(values, self.op)
            seeds = dict(ends)
            for name in self.rollout.outputs:
                if name in cotangents and cotangents[name].shape[0] == self.count:
                    own = self.ends.get(name, name)
                    seeds[own] = seeds.get(own, 0) + cotangents[name][t]
            pairs = [(out[n], g) for n, g in seeds.items() if out[n].requires_grad]
            leaves = {n: v for n, v in values.items() if _is_float(v)}
            grads = torch.autograd.grad(
                [o for o, _ in pairs], list(leaves.values()), [g for _, g in pairs], True,
                allow_unused=True,
            )  # fmt: skip
            grads = dict(zip(leaves, grads))
            for name, g in grads.items():
                place = None if g is None else _first(g)
                if place is not None:
                    return self.found(
                        "gradient", t, name, place, self.launched(self.arguments(t), seeds)
                    )
            ends = {
                v: torch.zeros_like(s) if grads.get(k) is None else grads[k]
                for (k, v), s in zip(self.ends.items(), self.states[t])
            }
        return None

    def launched(self, values, seeds):
        """The error of the step's launch, or of its adjoint, in checked mode."""
        step = self.rollout.step
        given = {n: v.clone() if isinstance(v, torch.Tensor) else v for n, v in values.items()}
        for before, after in self.ends.items():
            given.setdefault(after, torch.zeros_like(values[before]))
        try:
            with _checked(), torch.no_grad():
                vjp(step, given, seeds or {}, dim=self.rollout.launch_range(values))
        except KernelError as e:
            return e
        return None

    def found(self, kind, t, name, place, error):
        env = place[: self.rollout.environment_dims] or place
        return NonFinite(
            kind,
            t,
            env,
            name,
            None if error is None else error.filename,
            None if error is None else error.lineno,
            "" if error is None else str(error),
        )


def _is_float(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _first(t):
    """Index of the first number that is not finite; None if all are."""
    bad = ~t.detach().isfinite()
    if not bool(bad.any()):
        return None
    return tuple(int(i) for i in torch.unravel_index(bad.reshape(-1).int().argmax(), t.shape))


def find_non_finite(rollout, *args, cotangents=None, steps=None, **kwargs):
    """Runs a rollout step by step, forward and backward, and says where a value or a gradient is
    not finite first: step, environment and line of the kernel. Slow: for when it has happened.

    Args:
        rollout: what ``rollout()`` made.
        args, kwargs, steps: those of the call.
        cotangents: ``{name: tensor}`` of final carries, and of outputs with their dimension of
            time; ones for all final carries if not given.

    Returns:
        A NonFinite, or None if all is finite.
    """
    if not isinstance(rollout, Rollout):
        raise ArgumentTypeError(
            f"find_non_finite(): got a {type(rollout).__name__}, wanted what rollout() made",
            code="WT601",
        )
    given = rollout.ordered(args, kwargs)
    search = _Search(rollout, given, rollout.count(given, steps))
    known = {*rollout.carry.values(), *rollout.outputs}
    for name in cotangents or {}:
        if name not in known:
            raise ArgumentValueError(
                f"find_non_finite(): no result {name!r}; there are {', '.join(sorted(known))}",
                code="WT603",
            )
    return search.forward() or search.backward(cotangents or {})
