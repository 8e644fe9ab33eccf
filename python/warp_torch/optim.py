# SPDX-License-Identifier: Apache-2.0
# optim.py: minimize() and least_squares() over NumPy, torch and kernel functions.
"""Numerical optimisation: L-BFGS, Levenberg-Marquardt and Gauss-Newton.

The loops run in C++ in float64 on the host; only the user's function runs where its data is. It
gets points of the kind, shape, dtype and device of ``x0``. ::

    summary = wt.optim.minimize(lambda x: ((x - 3) ** 2).sum(), torch.zeros(4))
    print(summary.x, summary.termination, summary.full_report())

Nothing here raises for want of convergence: read ``summary.converged`` and ``summary.message``.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, field

import numpy as np
import torch

from warp_torch import _C, optim_functions
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, nearest
from warp_torch.optim_functions import Point

__all__ = [
    "BatchSummary",
    "Summary",
    "check_gradient",
    "check_jacobian",
    "least_squares",
    "least_squares_batch",
    "minimize",
]

# A float32 function repeats itself to about this; see the options these defaults go to.
_FLOAT32_NOISE = 1e-6
_LARGEST_INT = 2**31 - 1


@dataclass(frozen=True)
class Summary:
    """What a minimisation did. ``objective`` is f(x), or 1/2 |r(x)|^2 for least squares."""

    x: np.ndarray | torch.Tensor  #: the best point found, of the kind and shape of ``x0``
    method: str
    termination: str  #: e.g. "gradient_tolerance", "max_iterations", "line_search_failed"
    converged: bool  #: one of the tolerances was met
    message: str  #: one sentence with the figures behind ``termination``
    initial_objective: float
    objective: float
    gradient_norm: float  #: largest absolute entry of the gradient at ``x``
    iterations: int
    successful_iterations: int  #: those that moved x
    function_evaluations: int
    derivative_evaluations: int
    seconds: float
    evaluation_seconds: float  #: of these, spent in the user's function
    records: list = field(repr=False)  #: one IterationRecord per iteration, the start first
    _native: object = field(repr=False, compare=False)

    def brief_report(self):
        """One line."""
        return self._native.brief_report()

    def full_report(self):
        """The table of iterations and the figures."""
        return self._native.full_report()


@dataclass(frozen=True)
class BatchSummary:
    """What a batch of B minimisations did: arrays of length B, by problem."""

    x: np.ndarray | torch.Tensor  #: shape (B, n)
    method: str
    termination: np.ndarray  #: of str
    converged: np.ndarray  #: of bool
    message: list = field(repr=False)
    initial_objective: np.ndarray = field(repr=False)
    objective: np.ndarray
    gradient_norm: np.ndarray
    iterations: np.ndarray
    function_evaluations: np.ndarray
    derivative_evaluations: np.ndarray
    seconds: float

    def brief_report(self):
        """One line."""
        return (
            f"{self.method}: {int(self.converged.sum())} of {len(self.converged)} problems "
            f"converged, iterations {self.iterations.min()} to {self.iterations.max()}, "
            f"largest objective {self.objective.max():.6e}, {self.seconds:.3f} s"
        )


def minimize(fun, x0, method="lbfgs", *, grad=None, bounds=None, callback=None, **options):
    """Minimises a scalar function.

    Args:
        fun: ``fun(x)`` returns ``(value, gradient)``; or the value alone, when ``grad`` is given,
            or when ``x0`` is a tensor and the value a scalar tensor that autograd can
            differentiate. A value that is not finite makes the step shorter.
        x0: start, a tensor or anything NumPy can read, of any shape.
        method: "lbfgs": limited-memory BFGS with a strong Wolfe line search; within bounds, in the
            space of the variables that no bound holds, with a projected search.
        grad: ``grad(x)`` returns the gradient.
        bounds: ``(lower, upper)``, each a number, an array like ``x0`` or None. ``fun`` is called
            only at points within them, and the start must be one.
        callback: ``callback(record, x)`` after each iteration; true stops.
        options: ``max_iterations=1000``, ``max_evaluations=15000``, ``gradient_tolerance=1e-6``
            (largest gradient entry), ``function_tolerance=1e-12`` (decrease relative to
            max(|f|, 1); 0 switches the test off), ``history=10``, ``check_gradients=False``,
            ``gradient_check_tolerance=1e-6``, ``record_iterations=True``; of the line search
            ``sufficient_decrease=1e-4``, ``curvature=0.9``, ``max_expansion=10.0``,
            ``max_step=1e20``, ``max_line_search_evaluations=20`` and ``function_noise=1e-15``
            (relative rounding error of f; 1e-6 if ``x0`` is float32).

    Returns:
        Summary.

    Raises:
        ArgumentTypeError, ArgumentValueError: an unknown or invalid option, or a result of ``fun``
            of the wrong kind or shape.
    """
    who = "optim.minimize()"
    _choose(who, "method", method, ("lbfgs",))
    point = Point(x0, who)
    defaults = {"function_noise": _FLOAT32_NOISE} if point.is_single else {}
    options = _checked_options(who, "minimize", options, defaults)
    if bounds is not None:
        options["bounds"] = point.bounds(bounds, who)
    evaluate = optim_functions.ObjectiveCall(fun, grad, point, who)
    native = _C.optim.minimize(evaluate, point.start, options, _callback(callback, point))
    return _summary(native, point, who)


def least_squares(residuals, x0, method="lm", *, jac=None, bounds=None, callback=None, **options):
    """Minimises 1/2 |r(x)|^2.

    Args:
        residuals: ``residuals(x)`` returns the vector r, or ``(r, jacobian)``. Fewer residuals than
            parameters and a singular Jacobian are fine.
        x0: start, a tensor or anything NumPy can read, of any shape.
        method: "lm": Levenberg-Marquardt in a scaled trust region; "gauss_newton".
        jac: the m x n Jacobian: ``jac(x)``; or, for tensors, "rows" (the default: one autograd
            backward per residual, on the graph of the residuals already computed), "jacrev" or
            "jacfwd" (``torch.func``).
        bounds: as for ``minimize``; steps are projected onto them.
        callback: ``callback(record, x)`` after each iteration; true stops.
        options: ``max_iterations=1000``, ``max_evaluations=15000``, ``function_tolerance=1e-8``
            (relative reduction of |r|^2), ``step_tolerance=1e-8`` (trust region relative to x),
            ``gradient_tolerance=1e-10`` (cosine between r and the Jacobian's columns),
            ``initial_radius_factor=100.0``, ``min_gain_ratio=1e-4``, ``linear_solver="qr"``
            ("cholesky", "cg"), ``cg_tolerance=1e-12``, ``cg_max_iterations=0`` (2 n + 10),
            ``check_gradients=False``, ``gradient_check_tolerance=1e-6``,
            ``record_iterations=True``. If ``x0`` is float32, the first two tolerances are 1e-6.

    Returns:
        Summary.

    Raises:
        ArgumentTypeError, ArgumentValueError: as for ``minimize``.
    """
    who = "optim.least_squares()"
    point = Point(x0, who)
    options = _least_squares_options(who, method, options, point)
    if bounds is not None:
        options["bounds"] = point.bounds(bounds, who)
    evaluate = optim_functions.ResidualCall(residuals, jac, point, who)
    native = _C.optim.least_squares(
        evaluate, point.start, evaluate.num_residuals, method, options, _callback(callback, point)
    )
    return _summary(native, point, who)


def least_squares_batch(residuals, x0, method="lm", *, jac=None, bounds=None, **options):
    """Minimises 1/2 |r_b(x_b)|^2 for B independent problems at once.

    Each pass evaluates all problems by one call, so one kernel launch or one batched tensor program
    serves them; finished problems stay at their point. Problem b takes the steps that
    ``least_squares`` would take on it alone.

    Args:
        residuals: ``residuals(x)`` maps (B, n) to (B, m), row b depending on row b of x alone; or
            returns ``(r, jacobians)``. A row with NaN means "undefined here".
        x0: starts, of shape (B, n).
        jac: ``jac(x)`` returns (B, m, n). For tensors it may be left out: m autograd backwards.
        bounds: ``(lower, upper)``, each of shape (n,), a number or None, for every problem.
        method, options: as for ``least_squares``; ``record_iterations`` has no effect.

    Returns:
        BatchSummary.
    """
    who = "optim.least_squares_batch()"
    point = Point(x0, who)
    if len(point.shape) != 2:
        raise ArgumentValueError(
            f"{who}: x0 has shape {point.shape}, wanted (problems, parameters)", code="WT821"
        )
    options = _least_squares_options(who, method, options, point)
    options["record_iterations"] = False
    if bounds is not None:
        options["bounds"] = point.row().bounds(bounds, who)
    evaluate = optim_functions.BatchResidualCall(residuals, jac, point, who)
    starts = point.start.reshape(point.shape)
    all_ = _C.optim.least_squares_batch(evaluate, starts, evaluate.num_residuals, method, options)

    for native in all_[:1]:
        _refuse_invalid(native, who)

    def column(name):
        return np.array([getattr(s, name) for s in all_])

    return BatchSummary(
        x=point.wrap(np.array([s.x for s in all_])),
        method=all_[0].method if all_ else method,
        message=[s.message for s in all_],
        seconds=max((s.seconds for s in all_), default=0.0),
        **{
            name: column(name)
            for name in (
                "termination",
                "converged",
                "initial_objective",
                "objective",
                "gradient_norm",
                "iterations",
                "function_evaluations",
                "derivative_evaluations",
            )
        },
    )


def check_gradient(fun, x, tolerance=1e-6, *, grad=None):
    """Compares the gradient that ``minimize`` would use with central differences at ``x``.

    Returns a report: true if they agree; its ``text`` names the worst entry.
    """
    who = "optim.check_gradient()"
    point = Point(x, who)
    evaluate = optim_functions.ObjectiveCall(fun, grad, point, who)
    return _C.optim.check_gradient(evaluate, point.start, float(tolerance))


def check_jacobian(residuals, x, tolerance=1e-6, *, jac=None):
    """The same for the Jacobian that ``least_squares`` would use."""
    who = "optim.check_jacobian()"
    point = Point(x, who)
    evaluate = optim_functions.ResidualCall(residuals, jac, point, who)
    return _C.optim.check_jacobian(evaluate, point.start, evaluate.num_residuals, float(tolerance))


def _refuse_invalid(native, who):
    if native.termination == "invalid_options":
        raise ArgumentValueError(f"{who}: {native.message}", code="WT820")


def _summary(native, point, who):
    _refuse_invalid(native, who)
    names = [f for f in Summary.__dataclass_fields__ if f not in ("x", "_native")]
    values = {name: getattr(native, name) for name in names}
    return Summary(x=point.wrap(native.x), _native=native, **values)


def _callback(callback, point):
    if callback is None:
        return None
    return lambda record, x: bool(callback(record, point.wrap(x)))


def _choose(who, name, value, allowed):
    if value not in allowed:
        wanted = " or ".join(repr(a) for a in allowed)
        raise ArgumentValueError(f"{who}: {name} = {value!r}, wanted {wanted}", code="WT820")


def _least_squares_options(who, method, options, point):
    _choose(who, "method", method, ("lm", "levenberg_marquardt", "gn", "gauss_newton"))
    single = {"function_tolerance": _FLOAT32_NOISE, "step_tolerance": _FLOAT32_NOISE}
    return _checked_options(who, "least_squares", options, single if point.is_single else {})


def _checked_options(who, function, given, changed_defaults):
    """The options as C++ takes them: names known, types right, rules kept."""
    defaults = _C.optim.default_options(function)
    checked = dict(changed_defaults)
    for name, value in given.items():
        if name not in defaults:
            near = nearest(name, defaults)
            hint = f"did you mean {near}?" if near else "known: " + ", ".join(sorted(defaults))
            raise ArgumentTypeError(f"{who}: unknown option {name}; {hint}", code="WT820")
        checked[name] = _converted(who, name, value, defaults[name])
    error = _C.optim.option_error(function, checked)
    if error:
        raise ArgumentValueError(f"{who}: {error}", code="WT820")
    return checked


def _converted(who, name, value, default):
    """``value`` as the type of ``default``; a bool is no number here."""
    kind = type(default)
    number = {int: numbers.Integral, float: numbers.Real}.get(kind)
    is_bool = isinstance(value, (bool, np.bool_))
    if number is None:
        fits = is_bool if kind is bool else isinstance(value, kind)
    else:
        fits = isinstance(value, number) and not is_bool
    if not fits:
        raise ArgumentTypeError(
            f"{who}: option {name} wants {kind.__name__}, got {value!r} of {type(value).__name__}",
            code="WT820",
        )
    if kind is int and abs(value) > _LARGEST_INT:
        raise ArgumentValueError(
            f"{who}: option {name} = {value} must be <= {_LARGEST_INT}", code="WT820"
        )
    return kind(value)
