# SPDX-License-Identifier: Apache-2.0
# test_linear_solvers.py: optim.linear against NumPy's solutions, on and off the tape.
import numpy as np
import pytest
import warp_torch as wp

linear = wp.optim.linear
N = 24
RNG = np.random.default_rng(3)
Q = RNG.normal(size=(N, N))
SYMMETRIC = Q @ Q.T + 5 * np.eye(N)
GENERAL = SYMMETRIC + np.triu(RNG.normal(size=(N, N)))
B = RNG.normal(size=N)
SOLVERS = [
    (linear.cg, SYMMETRIC),
    (linear.cr, SYMMETRIC),
    (linear.bicgstab, GENERAL),
    (linear.gmres, GENERAL),
]


def arrays(matrix, dtype=wp.float64, grad=False):
    made = [wp.array(v, dtype=dtype, device="cpu", requires_grad=grad) for v in (matrix, B)]
    return [*made, wp.zeros(N, dtype=dtype, device="cpu", requires_grad=grad)]


@pytest.mark.parametrize("dtype, tolerance", [(wp.float32, 1e-4), (wp.float64, 1e-9)])
@pytest.mark.parametrize("kind", [None, "diag", "diag_abs"])
@pytest.mark.parametrize("solver, matrix", SOLVERS)
def test_solutions(solver, matrix, kind, dtype, tolerance):
    a, b, x = arrays(matrix, dtype)
    seen = []
    inverse = linear.preconditioner(a, kind) if kind else None
    count, residual, limit = solver(
        a, b, x, maxiter=200, M=inverse, callback=lambda *state: seen.append(state)
    )
    assert residual <= limit and 0 < count < 200
    assert seen[0][0] == 0 and seen[-1] == (count, residual, limit)
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(matrix, B), atol=tolerance)
    np.testing.assert_array_equal(b.numpy(), B.astype(b.numpy().dtype))


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("solver", [linear.bicgstab, linear.gmres])
def test_side_of_the_preconditioner_and_restarts(solver, left):
    a, b, x = arrays(GENERAL)
    options = {"restart": 6} if solver is linear.gmres else {}
    solver(
        a, b, x, maxiter=300, tol=1e-10, M=linear.preconditioner(a), is_left_preconditioner=left,
        **options,
    )  # fmt: skip
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(GENERAL, B), atol=1e-7)


def test_operators():
    a, b, x = arrays(SYMMETRIC)
    calls = []

    def matvec(x, y, z, alpha, beta):
        calls.append(alpha)
        z.assign(alpha * SYMMETRIC @ x.numpy() + beta * y.numpy())

    count, *_ = linear.cg(linear.LinearOperator((N, N), wp.float64, "cpu", matvec), b, x)
    assert len(calls) == count + 1
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(SYMMETRIC, B), atol=1e-9)
    z = wp.array(B, dtype=wp.float64, device="cpu")
    linear.aslinearoperator(a).matvec(b, z, z, 2.0, -1.0)
    np.testing.assert_allclose(z.numpy(), 2 * SYMMETRIC @ B - B)

    blocks = np.stack([np.eye(3) * (k + 2) + 0.5 for k in range(4)])
    right = RNG.normal(size=(4, 3))
    v = wp.zeros(4, dtype=wp.vec3d, device="cpu")
    operator = wp.array(blocks, dtype=wp.mat33d, device="cpu")
    linear.cg(operator, wp.array(right, dtype=wp.vec3d, device="cpu"), v)
    wanted = np.linalg.solve(blocks, right[..., None])[..., 0]
    np.testing.assert_allclose(v.numpy(), wanted, rtol=1e-9)
    diagonal = wp.array(right, dtype=wp.vec3d, device="cpu")
    linear.aslinearoperator(diagonal).matvec(v, v, v, 1.0, 0.0)
    np.testing.assert_allclose(v.numpy(), right * wanted, rtol=1e-9)


def test_a_fixed_number_of_iterations_gives_arrays():
    a, b, x = arrays(SYMMETRIC)
    count, residual, limit = linear.cr(a, b, x, maxiter=40, check_every=0)
    assert count.list() == [40] and residual.list()[0] < 1e-9 and limit.shape == (1,)


@pytest.mark.parametrize("solver, matrix", SOLVERS)
def test_gradients(solver, matrix):
    weights = wp.array(RNG.normal(size=N), dtype=wp.float64, device="cpu")
    a, b, x = arrays(matrix, grad=True)
    with wp.Tape() as tape:
        solver(a, b, x, tol=1e-13, maxiter=200)
        y = x * x
    tape.backward(grads={y: weights})
    solution = np.linalg.solve(matrix, B)
    adjoint = np.linalg.solve(matrix.T, 2 * solution * weights.numpy())
    np.testing.assert_allclose(b.grad.numpy(), adjoint, atol=1e-9)
    np.testing.assert_allclose(a.grad.numpy(), -np.outer(adjoint, solution), atol=1e-9)


def test_lost_gradients_are_refused():
    a, b, x = arrays(GENERAL, grad=True)
    operator = linear.LinearOperator((N, N), wp.float64, "cpu", lambda *_: None)
    with wp.Tape():
        with pytest.raises(wp.GradientError, match="transpose"):
            linear.gmres(operator, b, x)
        with pytest.raises(wp.GradientError, match="would be lost"):
            linear.gmres(a, b, wp.zeros(N, dtype=wp.float64, device="cpu"))


def test_wrong_uses():
    a, b, x = arrays(SYMMETRIC)
    with pytest.raises(wp.ArgumentValueError, match="24 rows"):
        linear.cg(a, b[:3], x)
    with pytest.raises(wp.ArgumentTypeError, match="same float type"):
        linear.cg(a, b, wp.zeros(N, dtype=float, device="cpu"))
    with pytest.raises(wp.ArgumentTypeError, match="wanted a LinearOperator"):
        linear.cg(3.0, b, x)
    with pytest.raises(wp.ArgumentValueError, match="diag"):
        linear.preconditioner(a, "ilu")
