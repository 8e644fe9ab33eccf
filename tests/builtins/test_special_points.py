# SPDX-License-Identifier: Apache-2.0
# test_special_points.py: at points where a formula divides by zero, derivatives are finite, the jvp and
# the vjp are one linear map, and so are their derivatives finite.
import numpy as np
import pytest

from tests.builtins import rows
from tests.support import emitted

ZERO, ONE = np.zeros(3), np.array([0.0, 0, 0, 1])
EYE, HALF = np.eye(3), np.sqrt(0.5)
LOCKED = np.array([0.0, HALF, 0, HALF])
CASES = [
    ("length", ZERO), ("normalize", ZERO), ("norm_l1", ZERO), ("norm_l2", ZERO), ("norm_huber", ZERO, 1),
    ("norm_pseudo_huber", ZERO, 1), ("smooth_normalize", ZERO, 1), ("length", 0 * ONE),
    ("normalize", 0 * ONE), ("quat_slerp", ONE, ONE, 0.3), ("quat_slerp", ONE, -ONE, 0.3),
    ("quat_slerp", 0 * ONE, ONE, 0.3), ("quat_slerp", ONE, 0 * ONE, 0.3), ("quat_to_axis_angle", ONE),
    ("quat_exp", ZERO), ("quat_log", ONE), ("quat_log", -ONE), ("quat_log", ONE[::-1]),
    ("quat_from_axis_angle", ZERO, 0), ("quat_between_vectors", EYE[0], EYE[0]),
    ("quat_between_vectors", EYE[0], -EYE[0]), ("quat_between_vectors", ZERO, EYE[0]),
    ("quat_to_rpy", LOCKED), ("quat_to_rpy", ONE), ("quat_twist", EYE[2], ONE[::-1]),
    ("quat_twist_angle", EYE[2], ONE), ("quat_twist_angle_signed", EYE[2], ONE),
    ("quat_from_matrix", EYE), ("rotation_exp", ZERO), ("rotation_log", EYE), ("rotation_jacobian", ZERO),
    ("rotation_jacobian_inverse", ZERO), ("transform_exp", np.zeros(6)),
    ("transform_log", np.append(ZERO, ONE)), ("svd3", EYE), ("svd3", np.diag([2.0, 2, 1])),
    ("svd3", 0 * EYE), ("svd", EYE), ("svd", 0 * EYE), ("svd2", np.eye(2)), ("svd2", np.zeros((2, 2))), ("eig3", EYE), ("eig3", 0 * EYE),
    ("eig3", np.diag([1.0, 2, 2])), ("inverse", 0 * EYE), ("determinant", 0 * EYE), ("hypot", 0, 0),
    ("atan2", 0, 0), *(("pow", 0, y) for y in (0, 1, 2, 3)), ("pow", 2, 0),
    ("asin", 2), ("acos", -2), ("copysign", 0, 1), ("soft_abs", 0, 0), ("soft_max", 1, 1, 0),
    ("soft_step", 0, 1), ("smoothstep", 0, 1, 0), ("smoothstep", 0, 1, 1), ("smoothstep", 1, 1, 1),
    ("softplus", -800), ("sigmoid", -800), ("tanh", 400), ("complex_abs", np.zeros(2)),
    ("complex_arg", np.zeros(2)), ("complex_sqrt", np.zeros(2)), ("complex_log", np.zeros(2)),
    ("complex_div", np.ones(2), np.zeros(2)), ("complex_pow", np.zeros(2), np.array([2.0, 0])),
    ("transform_decompose", np.eye(4)), ("min", np.ones(3)), ("max", np.ones(3)), ("abs", ZERO),
]  # fmt: skip
TYPES = ["F=f64", "S=f64", "I=i32", "B=bool", "T=f64", "N=3", "M=2", "K=4", "P=5"]


@pytest.fixture(scope="module")
def both():
    """Rows and library of first derivatives, then of second ones."""
    names = list(dict.fromkeys(name for name, *_ in CASES))
    tables = [rows.table_of([*TYPES, *names]), rows.table_of([*TYPES, "only=second", *names])]
    return [(t["rows"], emitted.load(t["cpu"], ("-O0",))) for t in tables]


def find(table, name, operands):
    """The row of these shapes."""
    for row in table:
        if row["name"] == name and [rows.shape_and_dtype(t) for t in row["operands"]] == [
            (a.shape[1:], a.dtype) for a in operands
        ]:
            return row
    raise KeyError(name)


@pytest.mark.parametrize(
    "case", CASES, ids=lambda c: f"{c[0]}{[np.array(x).tolist() for x in c[1:]]}"
)
def test_special_point(both, case):
    name, *values = case
    operands = [np.array([x], float) for x in values]
    (table, lib), (table2, lib2) = both
    row = find(table, name, operands)
    rng = np.random.default_rng(0)
    d = [rng.standard_normal(a.shape) for a in rows.empty(row["results"], 1)]
    t = [rng.standard_normal(a.shape) for a in operands]
    back, forth = rows.vjp(lib, row, operands, d), rows.jvp(lib, row, operands, t)
    assert all(np.isfinite(a).all() for a in [*back, *forth])
    left = sum(np.sum(a * b) for a, b in zip(back, t, strict=True))
    right = sum(np.sum(a * b) for a, b in zip(forth, d, strict=True))
    assert left == pytest.approx(right, rel=1e-9, abs=1e-12)
    second = rows.hvp(lib2, find(table2, name, operands), operands, d, t)
    assert all(np.isfinite(a).all() for a in second)
