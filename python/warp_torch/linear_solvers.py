# SPDX-License-Identifier: Apache-2.0
# linear_solvers.py: iterative solvers of linear systems, ``optim.linear``.
"""``cg``, ``cr``, ``bicgstab`` and ``gmres`` on arrays; on a tape the solution is differentiable.

The vectors are the arrays' own memory, seen as PyTorch tensors of one dimension.
"""

from __future__ import annotations

import torch

from warp_torch import _C
from warp_torch import types as _types
from warp_torch.array_making import empty_like, zeros
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError
from warp_torch.interop import to_torch
from warp_torch.linear_operators import (
    LinearOperator,
    aslinearoperator,
    name_of,
    preconditioner,
)
from warp_torch.tape import active_tape, paused

__all__ = [
    "LinearOperator",
    "aslinearoperator",
    "bicgstab",
    "cg",
    "cr",
    "gmres",
    "preconditioner",
]

_TOLERANCE = {_types.float16: 1e-3, _types.float32: 1e-6, _types.float64: 1e-12}


class _System:
    """A system, its vectors as tensors, and when to stop."""

    def __init__(self, who, operator, b, x, tol, atol, maxiter, preconditioned, callback, every):
        self.who, self.operator, self.inverse = who, operator, preconditioned
        self.callback, self.every = callback, every
        self.like = b
        self.b, self.x = self.vector(b), self.vector(x)
        default = _TOLERANCE[operator.scalar_type]
        tol = default if tol is None else tol
        atol = tol if atol is None else atol
        self.limit = torch.clamp(tol * self.b.norm(), min=atol)
        self.most = int(maxiter) or self.b.numel()
        self.count = 0
        self.residual = torch.zeros_like(self.limit)

    @staticmethod
    def vector(a):
        return to_torch(a, requires_grad=False).reshape(-1)

    def applied(self, operator, v):
        """A @ v of a tensor of one dimension."""
        if operator is None:
            return v.clone()
        x, z = (empty_like(self.like, requires_grad=False) for _ in range(2))
        self.vector(x).copy_(v)
        operator.matvec(x, z, z, 1.0, 0.0)
        return self.vector(z)

    def times(self, v):
        return self.applied(self.operator, v)

    def preconditioned(self, v):
        return self.applied(self.inverse, v)

    def start(self):
        """The residual of the first guess."""
        r = self.b - self.times(self.x)
        self.residual = r.norm()
        return r

    def done(self, r):
        """Notes a residual; whether it is time to stop. The host looks at every few only."""
        self.residual = r.norm()
        last = self.count >= self.most
        look = self.every > 0 and (last or self.count % self.every == 0)
        if not look:
            return last
        residual, limit = float(self.residual), float(self.limit)
        if self.callback is not None:
            self.callback(self.count, residual, limit)
        return last or residual <= limit

    def result(self):
        """(iterations, residual norm, tolerance): numbers, or arrays if the host never looked."""
        if self.every > 0:
            return self.count, float(self.residual), float(self.limit)
        out = []
        for value, dtype in (
            (self.count, _types.int32),
            (self.residual, self.operator.scalar_type),
            (self.limit, self.operator.scalar_type),
        ):
            a = zeros(1, dtype=dtype, device=self.like.device)
            self.vector(a).copy_(torch.as_tensor(value))
            out.append(a)
        return tuple(out)


def _ratio(a, b):
    """a / b, and 0 where the method has nothing left to do."""
    return torch.where(b == 0, torch.zeros_like(a), a / b)


def _run_cg(s):
    r = s.start()
    z = s.preconditioned(r)
    p, rz = z.clone(), r @ z
    while not s.done(r):
        q = s.times(p)
        alpha = _ratio(rz, p @ q)
        s.x += alpha * p
        r -= alpha * q
        z = s.preconditioned(r)
        before, rz = rz, r @ z
        p = z + _ratio(rz, before) * p
        s.count += 1


def _run_cr(s):
    r = s.start()
    z = s.preconditioned(r)
    p, az = z.clone(), s.times(z)
    ap, zaz = az.clone(), z @ az
    while not s.done(r):
        m = s.preconditioned(ap)
        alpha = _ratio(zaz, ap @ m)
        s.x += alpha * p
        r -= alpha * ap
        z = z - alpha * m
        az = s.times(z)
        before, zaz = zaz, z @ az
        beta = _ratio(zaz, before)
        p = z + beta * p
        ap = az + beta * ap
        s.count += 1


def _run_bicgstab(s, left):
    r = s.start()
    shadow = s.preconditioned(r) if left else r.clone()
    # With a preconditioner on the left the method sees M A; on the right A M.
    inner = shadow.clone() if left else r
    p, rho = inner.clone(), shadow @ inner
    while not s.done(r):
        y = p if left else s.preconditioned(p)
        ay = s.times(y)
        v = s.preconditioned(ay) if left else ay
        alpha = _ratio(rho, shadow @ v)
        s.x += alpha * y
        inner = inner - alpha * v
        r = r - alpha * ay if left else inner
        z = inner if left else s.preconditioned(inner)
        az = s.times(z)
        t = s.preconditioned(az) if left else az
        omega = _ratio(t @ inner, t @ t)
        s.x += omega * z
        inner = inner - omega * t
        r = r - omega * az if left else inner
        before, rho = rho, shadow @ inner
        p = inner + _ratio(rho, before) * _ratio(alpha, omega) * (p - omega * v)
        s.count += 1


def _run_gmres(s, restart, left):
    r = s.start()
    restart = min(restart, s.most, s.b.numel())
    while not s.done(r):
        steps = min(restart, s.most - s.count)
        first = s.preconditioned(r) if left else r
        beta = first.norm()
        basis, h = [_ratio(first, beta)], s.b.new_zeros(steps + 1, steps)
        for k in range(steps):
            w = basis[-1] if left else s.preconditioned(basis[-1])
            w = s.times(w)
            w = s.preconditioned(w) if left else w
            for _ in range(2):  # again, for what rounding has left
                known = torch.stack(basis)
                part = known @ w
                h[: k + 1, k] += part
                w = w - part @ known
            h[k + 1, k] = w.norm()
            basis.append(_ratio(w, h[k + 1, k]))
        goal = s.b.new_zeros(steps + 1)
        goal[0] = beta
        y = torch.linalg.pinv(h) @ goal
        step = y @ torch.stack(basis[:steps])
        s.x += step if left else s.preconditioned(step)
        r = s.b - s.times(s.x)
        s.count += steps


def _solve(who, method, A, b, x, tol, atol, maxiter, M, callback, every, symmetric):  # noqa: N803
    operator = aslinearoperator(A)
    inverse = None if M is None else aslinearoperator(M)
    for name, a in (("b", b), ("x", x)):
        if not isinstance(a, _C.Array):
            raise ArgumentTypeError(
                f"{who}: {name} is a {type(a).__name__}, wanted an array", code="WT830"
            )
        if a.shape[0] != operator.shape[0] or a.device != operator.device:
            raise ArgumentValueError(
                f"{who}: {name} is {a!r}, the matrix has {name_of(operator)}", code="WT830"
            )
    if b.dtype != x.dtype or operator.scalar_type not in _TOLERANCE:
        raise ArgumentTypeError(
            f"{who}: b of {_types.type_name(b.dtype)}, x of {_types.type_name(x.dtype)}; wanted "
            "the same float type",
            code="WT830",
        )
    if active_tape() is not None:
        _record(who, method, operator, b, x, (tol, atol, maxiter, inverse), symmetric)
    with paused(), torch.no_grad():
        target = x if x.is_contiguous else empty_like(x, requires_grad=False)
        if target is not x:
            target.assign(x)
        s = _System(who, operator, b, target, tol, atol, maxiter, inverse, callback, every)
        method(s)
        if target is not x:
            x.assign(target)
        return s.result()


def _record(who, method, operator, b, x, options, symmetric):
    """Puts the adjoint of x = inverse(A) @ b on the tape: one more solve, with A transposed."""
    dense = operator.dense
    wanted = [a for a in (b, dense) if a is not None and a.requires_grad]
    if not wanted:
        return
    if not x.requires_grad:
        raise GradientError(
            f"{who}: {wanted[0]!r} requires a gradient and x does not, so that it would be lost; "
            "make x with requires_grad=True",
            code="WT625",
        )
    if dense is None and not symmetric:
        raise GradientError(
            f"{who}: the transpose of a LinearOperator is not known; give a dense matrix, or for "
            "a symmetric one use cg() or cr()",
            code="WT653",
        )
    tol, atol, maxiter, inverse = options
    transposed = operator if dense is None else aslinearoperator(dense.transpose())

    def backward():
        g = x.grad
        adjoint = zeros(x.shape, dtype=x.dtype, device=x.device)
        s = _System(who, transposed, g, adjoint, tol, atol, maxiter, inverse, None, 10)
        with torch.no_grad():
            method(s)
            if b.requires_grad:
                to_torch(b.grad, False).add_(to_torch(adjoint, False))
            if dense is not None and dense.requires_grad:
                to_torch(dense.grad, False).sub_(torch.outer(s.x, _System.vector(x)))
            to_torch(g, False).zero_()

    active_tape().record_func(backward, [x])


def cg(
    A,  # noqa: N803 - Warp's name
    b,
    x,
    tol=None,
    atol=None,
    maxiter=0,
    M=None,  # noqa: N803 - Warp's name
    callback=None,
    check_every=10,
    use_cuda_graph=True,
):
    """Solves ``A x = b`` with A symmetric and positive definite by conjugate gradients.

    Args:
        A: what ``aslinearoperator`` takes.
        b: the right-hand side.
        x: the first guess; gets the solution.
        tol: stop where the residual norm is below ``tol`` times that of b; 1e-6 of float32 and
            1e-12 of float64 if not given.
        atol: or below this; ``tol`` if not given.
        maxiter: most iterations; 0 for as many as there are numbers in b.
        M: an approximate inverse of A, such as ``preconditioner(A)``.
        callback: ``callback(iteration, residual_norm, tolerance)`` at each check.
        check_every: iterations between checks, at each of which the host waits for the device. 0
            for none: all iterations are done, and what is returned are arrays.
        use_cuda_graph: has no effect.

    On a tape, gradients of b and of a dense A are those of the exact solution. x must require a
    gradient then, and must not change between the solve and ``backward``.

    Returns:
        ``(iterations, residual norm, tolerance)``.

    Raises:
        ArgumentTypeError, ArgumentValueError: arguments that do not fit each other.
        GradientError: on a tape, a gradient would be lost.
    """
    return _solve("cg()", _run_cg, A, b, x, tol, atol, maxiter, M, callback, check_every, True)


def cr(
    A,  # noqa: N803 - Warp's name
    b,
    x,
    tol=None,
    atol=None,
    maxiter=0,
    M=None,  # noqa: N803 - Warp's name
    callback=None,
    check_every=10,
    use_cuda_graph=True,
):
    """Solves ``A x = b`` with A symmetric by conjugate residuals; arguments as of ``cg``."""
    return _solve("cr()", _run_cr, A, b, x, tol, atol, maxiter, M, callback, check_every, True)


def bicgstab(
    A,  # noqa: N803 - Warp's name
    b,
    x,
    tol=None,
    atol=None,
    maxiter=0,
    M=None,  # noqa: N803 - Warp's name
    callback=None,
    check_every=10,
    use_cuda_graph=True,
    is_left_preconditioner=False,
):
    """Solves ``A x = b`` for any square A by stabilised biconjugate gradients; arguments as of
    ``cg``. ``is_left_preconditioner`` puts M on the left of A instead of the right."""

    def run(s):
        _run_bicgstab(s, is_left_preconditioner)

    return _solve("bicgstab()", run, A, b, x, tol, atol, maxiter, M, callback, check_every, False)


def gmres(
    A,  # noqa: N803 - Warp's name
    b,
    x,
    tol=None,
    atol=None,
    restart=31,
    maxiter=0,
    M=None,  # noqa: N803 - Warp's name
    callback=None,
    check_every=31,
    use_cuda_graph=True,
    is_left_preconditioner=False,
):
    """Solves ``A x = b`` for any square A by generalised minimal residuals, from a fresh start
    every ``restart`` iterations; further arguments as of ``bicgstab``. Checks are at the starts."""

    def run(s):
        _run_gmres(s, restart, is_left_preconditioner)

    every = min(check_every, 1)
    return _solve("gmres()", run, A, b, x, tol, atol, maxiter, M, callback, every, False)
