# SPDX-License-Identifier: Apache-2.0
# test_derivatives.py: the vjp and jvp of every row against finite differences in float64.
import numpy as np
import pytest

from tests.builtins import rows
from tests.builtins.rows import is_float
from tests.support import emitted

TABLE = rows.table(**rows.DOUBLE)
# Their derivative is not that of their value, on purpose; an order is no variable.
CONSTANTS = {"stop_gradient", "_stumpff"}
ROWS = [
    r
    for r in TABLE["rows"]
    if r["derivative"] and r["name"] not in CONSTANTS and not r["name"].startswith("_as_")
]
SAMPLES = 24
# Rows of one float32 type are linear in it, so that a large step loses nothing but rounding.
STEP = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 2.0**-4}
TOLERANCE = {np.dtype(np.float64): (2e-6, 2e-7), np.dtype(np.float32): (2e-5, 1e-5)}


@pytest.fixture(scope="module")
def lib():
    return emitted.load(TABLE["cpu"], ("-O0",))


def jacobian(lib, row, operands):
    """d result / d operand by central differences: [result][operand] of [sample, out, in]."""
    at = rows.call(lib, row["kernel"], operands, row["results"])
    out = [[np.zeros((SAMPLES, r[0].size, x[0].size)) for x in operands] for r in at]
    for i, x in enumerate(operands):
        if not is_float(x):
            continue
        step = STEP[x.dtype]
        for k in range(x[0].size):
            both = []
            for sign in (1, -1):
                moved = [a.copy() for a in operands]
                moved[i].reshape(SAMPLES, -1)[:, k] += sign * step
                both.append(rows.call(lib, row["kernel"], moved, row["results"]))
            for j, (p, m) in enumerate(zip(*both, strict=True)):
                if is_float(p):
                    out[j][i][:, :, k] = (p - m).reshape(SAMPLES, -1) / (2 * step)
    return out


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['name']}{r['sig']}")
def test_vjp_and_jvp(lib, row):
    operands = rows.sample(row, SAMPLES, 5)
    if not operands:
        return
    j = jacobian(lib, row, operands)
    rng = np.random.default_rng(11)
    random = lambda types: [  # noqa: E731
        rng.standard_normal(a.shape).astype(a.dtype) for a in rows.empty(types, SAMPLES)
    ]
    d, t = random(row["results"]), random(row["operands"])
    flat = lambda a: a.reshape(SAMPLES, -1)  # noqa: E731

    vjp = rows.vjp(lib, row, operands, d)
    for i, got in enumerate(vjp):
        want = sum(np.einsum("soi,so->si", j[k][i], flat(d[k])) for k in range(len(d))) + 0.0
        if is_float(got):
            rtol, atol = TOLERANCE[got.dtype]
            np.testing.assert_allclose(flat(got), want, rtol, atol, err_msg=f"vjp {i}")

    jvp = rows.jvp(lib, row, operands, t)
    for k, got in enumerate(jvp):
        want = sum(np.einsum("soi,si->so", j[k][i], flat(t[i])) for i in range(len(t))) + 0.0
        if is_float(got):
            rtol, atol = TOLERANCE[got.dtype]
            np.testing.assert_allclose(flat(got), want, rtol, atol, err_msg=f"jvp {k}")
