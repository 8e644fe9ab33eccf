# SPDX-License-Identifier: Apache-2.0
# optim_functions.py: a user's function, NumPy or torch, as the C++ optimisers call it.
"""Conversion between flat float64 host arrays and what the user's functions take and return."""

from __future__ import annotations

import contextlib
import copy

import numpy as np
import torch

from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError


class Point:
    """Kind, shape, dtype and device of ``x0``, and points of that form made from flat arrays."""

    def __init__(self, x0, who):
        self.is_tensor = isinstance(x0, torch.Tensor)
        if self.is_tensor:
            if not x0.is_floating_point():
                raise ArgumentTypeError(
                    f"{who}: x0 has dtype {x0.dtype}, wanted a floating type", code="WT821"
                )
            self.dtype, self.device = x0.dtype, x0.device
        values = _numbers(x0, "x0", who)
        self.shape = tuple(values.shape)
        self.start = values.reshape(-1)
        if not np.isfinite(self.start).all():
            raise ArgumentValueError(f"{who}: x0 has entries that are not finite", code="WT821")

    def row(self):
        """The form of one problem of a batch."""
        one = copy.copy(self)
        one.shape = self.shape[1:]
        return one

    @property
    def is_single(self):
        """Whether the user's function computes in float32 or less."""
        return self.is_tensor and torch.finfo(self.dtype).eps > 1e-10

    def wrap(self, flat, requires_grad=False):
        """A fresh array or tensor like x0 with these values."""
        if not self.is_tensor:
            return flat.reshape(self.shape)
        x = torch.from_numpy(flat).to(device=self.device, dtype=self.dtype).reshape(self.shape)
        return x.requires_grad_() if requires_grad else x

    def bounds(self, bounds, who):
        """(lower, upper) as flat arrays from None, a number or an array like x0 each. They are
        rounded as x0 is, so that a start on a bound lies within it."""
        if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
            raise ArgumentTypeError(
                f"{who}: bounds = {bounds!r}, wanted (lower, upper)", code="WT821"
            )
        return tuple(
            self._bound(b, name, default, who)
            for b, name, default in zip(bounds, ("lower", "upper"), (-np.inf, np.inf), strict=True)
        )

    def _bound(self, bound, name, default, who):
        values = np.array(default) if bound is None else _numbers(bound, f"bounds, {name}", who)
        try:
            full = np.broadcast_to(values, self.shape)
        except ValueError:
            raise ArgumentValueError(
                f"{who}: bounds, {name} has shape {values.shape}, wanted {self.shape} or a number",
                code="WT821",
            ) from None
        return to_numpy(self.wrap(full.reshape(-1).copy())).reshape(-1)


def to_numpy(value):
    """A float64 host copy of a tensor, an array of ours, or anything NumPy reads."""
    if isinstance(value, torch.Tensor):
        value = value.detach().to(device="cpu", dtype=torch.float64).numpy()
    elif hasattr(value, "numpy"):
        value = value.numpy()
    return np.array(value, dtype=np.float64, order="C")


def _numbers(value, what, who):
    try:
        return to_numpy(value)
    except (TypeError, ValueError) as e:
        raise ArgumentTypeError(f"{who}: {what} is no array of numbers: {e}", code="WT821") from e


def _grad_mode(by_autograd):
    """Autograd on where we need its graph; else as the caller has it, who may use it himself."""
    return torch.enable_grad() if by_autograd else contextlib.nullcontext()


def _split(out, name, pair, who):
    """A result that may come with its derivative."""
    if not isinstance(out, tuple):
        return out, None
    if len(out) != 2:
        raise ArgumentTypeError(
            f"{who}: {name} returned {len(out)} values, wanted {pair}", code="WT822"
        )
    return out


def _backward(value, x, name, argument, who, retain_graph=False):
    """d value / d x by autograd, or an error that says what to do."""
    gradient = None
    if isinstance(value, torch.Tensor) and value.requires_grad:
        (gradient,) = torch.autograd.grad(value, x, retain_graph=retain_graph, allow_unused=True)
    if gradient is None:
        raise GradientError(
            f"{who}: the result of {name} does not depend on x through operations that autograd "
            f"knows. Return the derivative as well, or pass {argument}",
            code="WT823",
        )
    return gradient


class ObjectiveCall:
    """(x, want_gradient) -> (value, gradient) around ``fun`` and ``grad``."""

    def __init__(self, fun, grad, point, who):
        self.fun, self.grad, self.point, self.who = fun, grad, point, who

    def __call__(self, flat, want_gradient):
        by_autograd = self.point.is_tensor and self.grad is None
        x = self.point.wrap(flat, requires_grad=by_autograd)
        with _grad_mode(by_autograd):
            out = self.fun(x)
        out, gradient = _split(out, "fun", "(value, gradient)", self.who)
        value = _numbers(out, "the value of fun", self.who)
        if value.size != 1:
            raise ArgumentValueError(
                f"{self.who}: fun returned a value of shape {value.shape}, wanted one number",
                code="WT822",
            )
        value = float(value.reshape(()))
        if not want_gradient:
            return value, None
        if not np.isfinite(value):
            # Its gradient plays no part, and taking it could raise.
            return value, np.zeros_like(flat)
        if gradient is None:
            gradient = self._derive(out, x)
        gradient = _numbers(gradient, "the gradient", self.who)
        if gradient.size != flat.size:
            raise ArgumentValueError(
                f"{self.who}: the gradient has shape {gradient.shape}, wanted {self.point.shape} "
                "as x0",
                code="WT822",
            )
        return value, gradient.reshape(-1)

    def _derive(self, value, x):
        if self.grad is not None:
            return self.grad(x)
        if self.point.is_tensor:
            return _backward(value, x, "fun", "grad=", self.who)
        raise ArgumentTypeError(
            f"{self.who}: fun returned a value and no gradient. Return (value, gradient), or "
            "pass grad=, or pass x0 as a tensor to have autograd take the gradient",
            code="WT823",
        )


class ResidualCall:
    """(x, want_jacobian) -> residuals or Jacobian around ``residuals`` and ``jac``.

    The last evaluation is kept: the Jacobian is asked for at the point whose residuals were
    computed last, so that their graph, or the Jacobian returned along with them, is at hand.
    """

    KINDS = ("rows", "jacrev", "jacfwd")

    def __init__(self, residuals, jac, point, who):
        self.residuals, self.point, self.who = residuals, point, who
        if jac is None and point.is_tensor:
            jac = "rows"
        if isinstance(jac, str):
            if jac not in self.KINDS:
                raise ArgumentValueError(
                    f"{who}: jac = {jac!r}, wanted a function, " + ", ".join(map(repr, self.KINDS)),
                    code="WT823",
                )
            if not point.is_tensor:
                raise ArgumentTypeError(
                    f"{who}: jac = {jac!r} is for tensors, x0 is none; pass a function",
                    code="WT823",
                )
        self.jac = jac
        self.last = None
        self.num_residuals = self._measure()

    def _measure(self):
        return self._evaluate(self.point.start)[0].size

    def __call__(self, flat, want_jacobian):
        values, out, x, jacobian = self._evaluate(flat)
        if not want_jacobian:
            return self._checked(values)
        return self._jacobian(out, x, jacobian)

    def _checked(self, values):
        if values.size != self.num_residuals:
            raise ArgumentValueError(
                f"{self.who}: residuals returned {values.size} values, {self.num_residuals} before",
                code="WT822",
            )
        return values.reshape(-1)

    def _evaluate(self, flat):
        flat = flat.reshape(-1)
        if self.last is not None and np.array_equal(self.last[0], flat):
            return self.last[1]
        x = self.point.wrap(flat.copy(), requires_grad=self.jac == "rows")
        with _grad_mode(self.jac == "rows"):
            out = self.residuals(x)
        out, jacobian = _split(out, "residuals", "(r, jacobian)", self.who)
        values = _numbers(out, "the result of residuals", self.who)
        self.last = (flat.copy(), (values, out, x, jacobian))
        return self.last[1]

    def _jacobian(self, out, x, jacobian):
        jacobian = self._derive(out, x) if jacobian is None else jacobian
        jacobian = _numbers(jacobian, "the Jacobian", self.who)
        # The Jacobian of an x with several dimensions has one dimension for each of them.
        if jacobian.shape not in (self._jacobian_shape(), (self.num_residuals, *self.point.shape)):
            raise ArgumentValueError(
                f"{self.who}: the Jacobian has shape {jacobian.shape}, "
                f"wanted {self._jacobian_shape()}",
                code="WT822",
            )
        return jacobian.reshape(-1)

    def _jacobian_shape(self):
        return (self.num_residuals, self.point.start.size)

    def _derive(self, out, x):
        if callable(self.jac):
            return self.jac(x)
        if self.jac == "rows":
            return self._derive_rows(out, x)
        if self.jac in ("jacrev", "jacfwd"):
            jacobian = getattr(torch.func, self.jac)(self.residuals)(x.detach())
            return jacobian.reshape(self._jacobian_shape())
        raise ArgumentTypeError(
            f"{self.who}: residuals returned no Jacobian. Return (r, jacobian), or pass jac=, or "
            "pass x0 as a tensor to have autograd take it",
            code="WT823",
        )

    def _derive_rows(self, out, x):
        rows = out.reshape(-1).unbind() if isinstance(out, torch.Tensor) else [out]
        rows = [_backward(r, x, "residuals", "jac=", self.who, retain_graph=True) for r in rows]
        return torch.stack(rows)


class BatchResidualCall(ResidualCall):
    """The same for points of shape (B, n): residuals (B, m), Jacobians (B, m, n)."""

    KINDS = ("rows",)

    def _measure(self):
        values = self._evaluate(self.point.start)[0]
        batch = self.point.shape[0]
        if values.ndim != 2 or values.shape[0] != batch:
            raise ArgumentValueError(
                f"{self.who}: residuals have shape {values.shape}, wanted ({batch}, m)",
                code="WT822",
            )
        return values.shape[1]

    def _checked(self, values):
        wanted = (self.point.shape[0], self.num_residuals)
        if values.shape != wanted:
            raise ArgumentValueError(
                f"{self.who}: residuals have shape {values.shape}, wanted {wanted}", code="WT822"
            )
        return values.reshape(-1)

    def _jacobian_shape(self):
        return (self.point.shape[0], self.num_residuals, self.point.shape[1])

    def _derive_rows(self, out, x):
        # Row b of r depends on row b of x alone, so one backward gives a row of every Jacobian.
        sums = [r.sum() for r in out.unbind(1)] if isinstance(out, torch.Tensor) else [out]
        rows = [_backward(r, x, "residuals", "jac=", self.who, retain_graph=True) for r in sums]
        return torch.stack(rows, dim=1)
