# SPDX-License-Identifier: Apache-2.0
# test_second_derivatives.py: the derivative of every row's vjp, in float64, against finite differences of
# the vjp, and which rows refuse one.
import numpy as np
import pytest

from tests.builtins import rows
from tests.support import emitted

TABLE = rows.table(**rows.DOUBLE, only="second")
# An order is no variable; the rows of rotations use this one.
ROWS = [r for r in TABLE["rows"] if r["second"] and r["name"] != "_stumpff"]
SAMPLES = 6
STEP = {np.dtype(np.float64): 1e-5, np.dtype(np.float32): 2.0**-4}
TOLERANCE = {np.dtype(np.float64): (2e-5, 2e-6), np.dtype(np.float32): (2e-4, 1e-4)}
# Their vjp is made of derivatives of noise that have none of their own, or of tetragamma.
WITHOUT = {"curlnoise", "trigamma", "_noise_grad"}


@pytest.fixture(scope="module")
def lib():
    return emitted.load(TABLE["cpu"], ("-O0",))


def test_which_rows_have_none():
    without = {r["name"] for r in TABLE["rows"] if r["rule"] and not r["second"]}
    assert not TABLE["rows"] or without == WITHOUT


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['name']}{r['sig']}")
def test_hessian_product(lib, row):
    operands = rows.sample(row, SAMPLES, 7)
    rng = np.random.default_rng(13)
    random = lambda arrays: [  # noqa: E731
        rng.standard_normal(a.shape).astype(a.dtype) if rows.is_float(a) else np.zeros_like(a)
        for a in arrays
    ]
    d = random(rows.empty(row["results"], SAMPLES))
    t = random(operands)
    step = {a.dtype: STEP[a.dtype] for a in operands if rows.is_float(a)}
    sides = []
    for sign in (1, -1):
        moved = [
            a + (sign * step[a.dtype] * b).astype(a.dtype) if rows.is_float(a) else a
            for a, b in zip(operands, t, strict=True)
        ]
        sides.append(rows.vjp(lib, row, moved, d))
    got = rows.hvp(lib, row, operands, d, t)
    for x, plus, minus, g in zip(operands, *sides, got, strict=True):
        if not rows.is_float(x):
            continue
        want = (plus - minus) / (2 * step[x.dtype])
        rtol, atol = TOLERANCE[x.dtype]
        scale = np.maximum(1, np.abs(want).reshape(SAMPLES, -1).max(1)).reshape(
            -1, *[1] * (x.ndim - 1)
        )
        np.testing.assert_allclose(g / scale, want / scale, rtol, atol)
