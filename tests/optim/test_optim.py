# SPDX-License-Identifier: Apache-2.0
# test_optim.py: warp_torch.optim over NumPy and torch functions.
import math

import numpy as np
import pytest
import torch
from warp_torch import optim
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError

from tests.optim.standard_problems import BY_NAME

ROSENBROCK = BY_NAME["rosenbrock"]
BARD = BY_NAME["bard"]


def quadratic(x):
    """Minimum -1/2 sum b^2/d at b/d, b = 1..n, d = 2."""
    b = np.arange(1, x.size + 1).reshape(x.shape)
    return float((x * x - b * x).sum()), 2 * x - b


def test_numpy_value_and_gradient():
    summary = optim.minimize(quadratic, np.zeros((2, 3)))
    assert isinstance(summary.x, np.ndarray) and summary.x.shape == (2, 3)
    assert summary.objective == pytest.approx(-91 / 4, rel=1e-12)
    assert summary.converged and summary.termination == "gradient_tolerance"
    assert summary.function_evaluations == summary.records[-1].function_evaluations
    assert "lbfgs: gradient_tolerance" in summary.brief_report()
    assert len(summary.full_report().splitlines()) == len(summary.records) + 4


def test_list_start_and_separate_gradient():
    summary = optim.minimize(lambda x: quadratic(x)[0], [0.0, 0.0], grad=lambda x: quadratic(x)[1])
    assert summary.objective == pytest.approx(-5 / 4, rel=1e-12)


def test_torch_scalar_function_by_autograd():
    summary = optim.minimize(ROSENBROCK.objective, ROSENBROCK.start)
    assert isinstance(summary.x, torch.Tensor) and summary.x.dtype == torch.float64
    assert not summary.x.requires_grad
    assert summary.objective < 1e-12
    assert not ROSENBROCK.start.requires_grad


def test_torch_under_no_grad_and_with_a_gradient_of_its_own():
    with torch.no_grad():
        assert optim.minimize(ROSENBROCK.objective, ROSENBROCK.start).objective < 1e-12

    def fun(x):
        x = x.detach()
        return (x**2).sum(), 2 * x

    assert optim.minimize(fun, torch.ones(3, dtype=torch.float64)).objective < 1e-12


def test_torch_shape_and_dtype_are_kept():
    seen = []

    def fun(x):
        seen.append((x.shape, x.dtype))
        return ((x - 2) ** 2).sum() + 5

    summary = optim.minimize(fun, torch.zeros(2, 2, dtype=torch.float32))
    assert summary.converged, summary.full_report()
    assert set(seen) == {(torch.Size([2, 2]), torch.float32)}
    assert summary.x.dtype == torch.float32
    assert summary.objective == pytest.approx(5, abs=1e-6)


def test_float32_functions_converge_to_their_precision():
    start = ROSENBROCK.start.float()
    summary = optim.minimize(ROSENBROCK.objective, start, gradient_tolerance=1e-4)
    assert summary.converged and summary.objective < 1e-6, summary.full_report()
    summary = optim.least_squares(lambda x: ROSENBROCK.residuals(x), start)
    assert summary.converged and summary.objective < 1e-6, summary.full_report()
    assert summary.function_evaluations < 30


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_cuda_functions_stay_on_their_device():
    start = ROSENBROCK.start.cuda()
    summary = optim.minimize(ROSENBROCK.objective, start)
    assert summary.x.device == start.device and summary.objective < 1e-12
    summary = optim.least_squares(ROSENBROCK.residuals, start)
    assert summary.x.device == start.device and summary.objective < 1e-12


@pytest.mark.parametrize(
    "jac", [None, "rows", "jacrev", "jacfwd", torch.func.jacrev(BARD.residuals)]
)
def test_torch_jacobians_agree(jac):
    summary = optim.least_squares(BARD.residuals, BARD.start, jac=jac)
    assert BARD.is_solved(2 * summary.objective)
    assert summary.function_evaluations == 6  # the count of MINPACK


def test_residuals_run_once_per_point():
    calls = []

    def fun(x):
        calls.append(x.detach().clone())
        return BARD.residuals(x)

    summary = optim.least_squares(fun, BARD.start)
    assert len(calls) == summary.function_evaluations


def test_residuals_with_jacobian():
    a = np.array([[1.0, 2], [3, 4], [5, 7]])
    b = np.array([1.0, 0, 2])
    summary = optim.least_squares(lambda x: (a @ x - b, a), np.zeros(2))
    assert summary.objective == pytest.approx(0.5 * np.linalg.lstsq(a, b)[1][0], rel=1e-12)
    assert summary.function_evaluations <= 3


def test_matrix_shaped_parameters():
    target = torch.tensor([[2.0, 1], [1, 3]], dtype=torch.float64)
    for jac in ("rows", "jacrev"):
        summary = optim.least_squares(
            lambda x: x @ x.T - target, torch.eye(2, dtype=torch.float64), jac=jac
        )
        assert summary.x.shape == (2, 2)
        assert summary.objective < 1e-20


def test_gauss_newton_and_linear_solvers():
    for method, solver in [("gauss_newton", "qr"), ("lm", "cholesky"), ("lm", "cg")]:
        summary = optim.least_squares(BARD.residuals, BARD.start, method, linear_solver=solver)
        assert BARD.is_solved(2 * summary.objective), summary.full_report()


def starts(problem, count):
    generator = torch.Generator().manual_seed(5)
    noise = torch.rand(count, problem.start.numel(), generator=generator, dtype=torch.float64)
    return problem.start + 0.2 * noise


def batched(x):
    """Rosenbrock's residuals for rows of x."""
    return torch.stack([10 * (x[:, 1] - x[:, 0] ** 2), 1 - x[:, 0]], dim=1)


def test_batch_equals_one_by_one():
    x0 = starts(ROSENBROCK, 7)
    calls = []

    def fun(x):
        calls.append(x.shape)
        return batched(x)

    summary = optim.least_squares_batch(fun, x0)
    alone = [optim.least_squares(ROSENBROCK.residuals, x) for x in x0]
    assert summary.converged.all() and summary.x.shape == (7, 2)
    assert summary.iterations.tolist() == [s.iterations for s in alone]
    np.testing.assert_allclose(summary.objective, [s.objective for s in alone], atol=1e-20)
    assert set(calls) == {torch.Size([7, 2])}
    assert len(calls) == max(s.function_evaluations for s in alone)
    assert "7 of 7 problems converged" in summary.brief_report()


def test_batch_with_numpy_jacobian():
    def fun(x):
        r = np.stack([10 * (x[:, 1] - x[:, 0] ** 2), 1 - x[:, 0]], axis=1)
        j = np.zeros((len(x), 2, 2))
        j[:, 0, 0], j[:, 0, 1], j[:, 1, 0] = -20 * x[:, 0], 10, -1
        return r, j

    summary = optim.least_squares_batch(fun, starts(ROSENBROCK, 4).numpy())
    assert summary.converged.all() and (summary.objective < 1e-20).all()


def test_batch_keeps_going_past_an_undefined_problem():
    def fun(x):
        r = batched(x)
        return torch.cat([torch.full_like(r[:1], math.nan), r[1:]])

    summary = optim.least_squares_batch(fun, starts(ROSENBROCK, 3))
    assert summary.termination[0] == "evaluation_failed"
    assert summary.converged.tolist() == [False, True, True]


def test_bounds_hold_and_are_refused_when_wrong():
    seen = []

    def fun(x):
        seen.append(x.detach().clone())
        return ROSENBROCK.objective(x)

    summary = optim.minimize(fun, ROSENBROCK.start, bounds=(-2.0, [0.5, math.inf]))
    assert summary.converged and summary.objective == pytest.approx(0.25, abs=1e-9)
    assert all(x[0] <= 0.5 and (x >= -2).all() for x in seen)
    summary = optim.least_squares(ROSENBROCK.residuals, ROSENBROCK.start, bounds=(None, [0.5, 9.0]))
    assert summary.objective == pytest.approx(0.125, abs=1e-9)
    start = torch.full((2,), -2.8973)  # float32 rounds it below the bound's float64 value
    assert optim.minimize(lambda x: (x**2).sum(), start, bounds=(-2.8973, None)).objective < 1e-8
    batch = optim.least_squares_batch(batched, starts(ROSENBROCK, 3), bounds=(None, [0.5, 9.0]))
    assert batch.objective == pytest.approx(0.125, abs=1e-9)
    call = (optim.minimize, ROSENBROCK.objective, ROSENBROCK.start)
    raises(ArgumentValueError, "x0[0] = -1.2 must lie within", *call, bounds=(0, 2))
    raises(ArgumentValueError, "lower = 3 must be <= upper = 2", *call, bounds=([-2, 3], 2))
    raises(ArgumentValueError, "lower has shape (3,), wanted (2,)", *call, bounds=([0, 0, 0], 2))
    raises(ArgumentTypeError, "wanted (lower, upper)", *call, bounds=3)


def test_undefined_regions_shorten_the_step():
    start = torch.tensor([1e-3], dtype=torch.float64)
    summary = optim.minimize(lambda x: (x - torch.log(x)).sum(), start)
    assert summary.objective == pytest.approx(1.0, abs=1e-10)
    summary = optim.least_squares(torch.log, torch.tensor([20.0], dtype=torch.float64))
    assert summary.converged and summary.objective < 1e-16


def test_callback_sees_iterations_and_stops():
    seen = []

    def callback(record, x):
        seen.append((record.iteration, ROSENBROCK.objective(x).item() - record.objective))
        return record.iteration == 3

    summary = optim.minimize(ROSENBROCK.objective, ROSENBROCK.start, callback=callback)
    assert summary.termination == "stopped_by_callback"
    assert seen == [(1, 0.0), (2, 0.0), (3, 0.0)]


def test_user_exceptions_and_interrupts_pass_through():
    class Mine(Exception):
        pass

    for error in (Mine, KeyboardInterrupt):

        def fun(x, error=error):
            raise error

        with pytest.raises(error):
            optim.minimize(fun, np.zeros(2))
        with pytest.raises(error):
            optim.least_squares(fun, np.zeros(2))


def test_gradient_checks():
    assert optim.check_gradient(ROSENBROCK.objective, ROSENBROCK.start)
    assert optim.check_jacobian(BARD.residuals, BARD.start)
    report = optim.check_gradient(lambda x: (float(x @ x), 3 * x), np.array([1.0, 2.0]))
    assert not report and report.parameter == 1
    assert "given 6, finite difference 4" in report.text
    summary = optim.minimize(lambda x: (float(x @ x), 3 * x), np.ones(2), check_gradients=True)
    assert summary.termination == "gradient_check_failed" and not summary.converged


def raises(cls, text, function, *args, **kwargs):
    with pytest.raises(cls) as caught:
        function(*args, **kwargs)
    assert text in str(caught.value), str(caught.value)


@pytest.mark.parametrize(
    ("cls", "text", "options"),
    [
        (ArgumentTypeError, "unknown option histor; did you mean history?", {"histor": 3}),
        (ArgumentTypeError, "unknown option step_tolerance", {"step_tolerance": 1.0}),
        (ArgumentTypeError, "option history wants int, got 2.5 of float", {"history": 2.5}),
        (ArgumentTypeError, "option curvature wants float, got 'a' of str", {"curvature": "a"}),
        (ArgumentTypeError, "option check_gradients wants bool", {"check_gradients": 1}),
        (ArgumentValueError, "option history = 0 must be >= 1", {"history": 0}),
        (ArgumentValueError, "option curvature = 1.5 must be > 0 and < 1", {"curvature": 1.5}),
        (ArgumentValueError, "must be <= 2147483647", {"max_iterations": 10**12}),
        (ArgumentValueError, "method = 'newton', wanted 'lbfgs'", {"method": "newton"}),
    ],
)
def test_minimize_refuses_options(cls, text, options):
    raises(cls, "optim.minimize(): ", optim.minimize, quadratic, np.zeros(2), **options)
    raises(cls, text, optim.minimize, quadratic, np.zeros(2), **options)


def test_least_squares_refuses_options():
    start = torch.zeros(2)
    fun = ROSENBROCK.residuals
    raises(ArgumentValueError, "must be qr, cholesky or cg", optim.least_squares, fun, start,
           linear_solver="lu")  # fmt: skip
    raises(ArgumentValueError, "'gauss_newton'", optim.least_squares, fun, start, "dogleg")
    raises(ArgumentValueError, "jac = 'fd', wanted", optim.least_squares, fun, start, jac="fd")
    raises(ArgumentTypeError, "is for tensors", optim.least_squares, fun, [0.0], jac="jacrev")


def test_results_of_the_wrong_kind_are_named():
    minimize, least_squares = optim.minimize, optim.least_squares
    raises(ArgumentTypeError, "no gradient. Return", minimize, lambda x: 1.0, np.zeros(2))
    raises(ArgumentValueError, "the gradient has shape (3,), wanted (2,) as x0", minimize,
           lambda x: (1.0, np.ones(3)), np.zeros(2))  # fmt: skip
    raises(ArgumentValueError, "value of shape (2,), wanted one number", minimize,
           lambda x: (x, x), np.zeros(2))  # fmt: skip
    raises(ArgumentTypeError, "the value of fun is no array", minimize,
           lambda x: ("a", x), np.zeros(2))  # fmt: skip
    raises(ArgumentTypeError, "returned 3 values", minimize, lambda x: (1, x, x), np.zeros(2))
    raises(ArgumentTypeError, "no Jacobian. Return", least_squares, lambda x: x, np.zeros(2))
    raises(ArgumentValueError, "the Jacobian has shape (2, 3), wanted (2, 2)", least_squares,
           lambda x: (x, np.ones((2, 3))), np.zeros(2))  # fmt: skip
    sizes = iter([2, 3, 4, 5])
    raises(ArgumentValueError, "returned 3 values, 2 before", least_squares,
           lambda x: (np.ones(next(sizes)), np.eye(2)), np.zeros(2))  # fmt: skip
    raises(ArgumentTypeError, "dtype torch.int64", minimize, quadratic, torch.zeros(2).long())
    raises(ArgumentTypeError, "x0 is no array", minimize, quadratic, ["a"])
    raises(ArgumentValueError, "not finite", minimize, quadratic, [math.inf])
    raises(
        ArgumentValueError,
        "wanted (problems, parameters)",
        optim.least_squares_batch,
        batched,
        torch.zeros(2),
    )
    raises(ArgumentValueError, "residuals have shape (6,), wanted (3, m)",
           optim.least_squares_batch, lambda x: x.reshape(-1), torch.zeros(3, 2))  # fmt: skip


def test_a_result_cut_off_from_x_is_refused():
    weight = torch.ones(2, requires_grad=True)
    for fun in (lambda x: (x.detach() ** 2).sum(), lambda x: (weight * x.detach()).sum()):
        raises(GradientError, "does not depend on x", optim.minimize, fun, torch.ones(2))
        raises(GradientError, "does not depend on x", optim.least_squares, fun, torch.ones(2))


def test_a_constant_residual_is_a_zero_row():
    start = torch.tensor([3.0, 1.0], dtype=torch.float64)
    summary = optim.least_squares(lambda x: torch.cat([x - 1, torch.ones(1).double()]), start)
    assert summary.objective == pytest.approx(0.5)
