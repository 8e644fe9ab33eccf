# SPDX-License-Identifier: Apache-2.0
# test_values.py: the value of every row on the CPU against NumPy, SciPy or a closed form.
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.builtins import references, rows
from tests.support import emitted

SAMPLES = 40
CHOICES = {  # fmt: skip
    "f64": dict(F="f64", S="f64", I="i32", B="bool", T="f64", N=3, M=2, K=4, P=5, only="value"),
    "f32": dict(F="f32", S="i32", I="i64", B="bool", T="i32", N=4, M=3, K=2, P=6, only="value"),
    "f16": dict(F="f16", S="f16", I="u8", B="bool", T="f16", N=2, M=2, K=2, only="value"),
}
TOLERANCE = {"f64": 1e-12, "f32": 3e-6, "f16": 2e-2}
CASES = [(name, row) for name, choice in CHOICES.items() for row in rows.table(**choice)["rows"]]
# Constants of the table itself: there is nothing to compare them with but themselves.
WITHOUT = {"quat_identity", "transform_identity", "_quat_case"}
# Derivatives that test_derivatives.py tests in the rows whose rules use them.
WITHOUT |= {"_noise_hess", "_curl_jacobian"}
# Of numbers of one size only; test_calls.py tests cast(), which uses them.
WITHOUT |= {row["name"] for _, row in CASES if row["name"].startswith("_as_")}


@pytest.fixture(scope="module")
def libs():
    return {
        name: emitted.load(rows.table(**choice)["cpu"], ("-O0",))
        for name, choice in CHOICES.items()
    }


def domain_sample(row):
    operands = rows.sample(row, SAMPLES, 3)
    if row["name"] in (
        "quat_from_matrix",
        "rotation_log",
        "transform_from_matrix",
        "transform_decompose",
    ):
        m = np.tile(np.eye(operands[0].shape[1]), (SAMPLES, 1, 1))
        m[:, :3, :3] = Rotation.random(SAMPLES, random_state=1).as_matrix()
        if row["name"].startswith("transform"):
            m[:, :3, 3] = operands[0][:, :3, 3]
        if row["name"] == "transform_decompose":
            m[:, :3, :3] *= 0.5 + np.abs(operands[0][:, 3:, :3])
        operands[0] = m.astype(operands[0].dtype)
    return operands


def same_sign(got, want):
    """Quaternions q and -q are one rotation."""
    flip = np.sign(np.sum(got[..., -4:] * want[..., -4:], -1, keepdims=True))
    return np.concatenate([want[..., :-4], want[..., -4:] * flip], -1)


def aligned(got, want, how):
    """What is wanted, in the order and with the signs that were chosen among equals."""
    if how == "eigen":
        order = np.argsort(np.argsort(got[1], 1), 1)
        q, d = want
        want = [np.take_along_axis(q, order[:, None, :], 2), np.take_along_axis(d, order, 1)]
    if how in ("columns", "eigen"):
        flip = [np.sign(np.sum(g * w, 1, keepdims=True)) for g, w in zip(got, want, strict=True)]
        return [w * f if w.ndim == 3 else w for w, f in zip(want, flip, strict=True)]
    some = how == "quaternions"
    return [
        w if some and g.shape[1] != 4 else same_sign(g, w) for g, w in zip(got, want, strict=True)
    ]


@pytest.mark.parametrize(("name", "row"), CASES, ids=lambda v: v if isinstance(v, str) else
                         f"{v['name']}{v['sig']}")  # fmt: skip
def test_value(libs, name, row):
    if row["name"] in WITHOUT:
        assert references.reference(row, []) is None
        return
    operands = domain_sample(row)
    wide = [a.astype(np.float64) if a.dtype in (np.float16, np.float32) else a for a in operands]
    with np.errstate(all="ignore"):
        found = references.reference(row, wide)
    assert found is not None, "no reference: add one to tests/builtins/references.py"
    want, how = found
    got = rows.call(libs[name], row["kernel"], operands, row["results"])
    assert len(got) == len(want)
    if how != "exact":
        want = aligned([g.astype(float) for g in got], want, how)
    for g, w in zip(got, want, strict=True):
        if np.issubdtype(g.dtype, np.floating):
            tolerance = TOLERANCE[name] if g.dtype != np.float32 else TOLERANCE["f32"]
            scale = np.maximum(1, np.abs(w))
            np.testing.assert_allclose(g / scale, w / scale, rtol=0, atol=tolerance)
        else:
            np.testing.assert_array_equal(g, w.astype(g.dtype))


def test_kinks_and_special_values():
    nan, inf = np.nan, np.inf
    table = rows.table(F="f32", S="f32", I="i32", B="bool", T="f32", N=3, M=3, K=3, only="value")
    lib = emitted.load(table["cpu"], ("-O0",))

    def call(name, sig, *xs):
        row = next(r for r in table["rows"] if r["name"] == name and r["sig"] == sig)
        arrays = [
            np.asarray(x, rows.shape_and_dtype(t)[1]).reshape(-1, *rows.shape_and_dtype(t)[0])
            for x, t in zip(xs, row["operands"], strict=True)
        ]
        return rows.call(lib, row["kernel"], arrays, row["results"])[0]

    two, ints = "(a: F, b: F) -> F", "(a: I, b: I) -> I"
    np.testing.assert_array_equal(call("min", two, [nan, 1, 2], [1, nan, 1]), [nan, nan, 1])
    np.testing.assert_array_equal(call("max", two, [nan, 1, 2], [1, nan, 3]), [nan, nan, 3])
    clamp = "(x: S, low: S, high: S) -> S"
    np.testing.assert_array_equal(
        call("clamp", clamp, [nan, 5, 0], [0, 2, 1], [1, 1, 3]), [nan, 1, 1]
    )
    low = -(2**31)
    np.testing.assert_array_equal(call("div", ints, [7, low, -7], [0, -1, 2]), [0, low, -3])
    np.testing.assert_array_equal(call("mod", ints, [7, low, -7], [0, -1, 2]), [7, 0, -1])
    np.testing.assert_array_equal(call("floordiv", ints, [7, 6, -7], [0, -4, 2]), [0, -2, -4])
    np.testing.assert_array_equal(call("add", ints, [2**31 - 1], [1]), [low])
    power = "(x: I, y: I) -> I"
    np.testing.assert_array_equal(
        call("pow", power, [2, -1, -1, 3], [-1, -3, -2, 0]), [0, -1, 1, 1]
    )
    np.testing.assert_array_equal(
        call("isinf", "(a: F) -> bool", [inf, -inf, nan, 1]), [1, 1, 0, 0]
    )
    np.testing.assert_array_equal(
        call("normalize", "(a: vec<N,F>) -> vec<N,F>", [0, 0, 0]), [[0] * 3]
    )
    np.testing.assert_array_equal(call("argmax", "(a: vec<N,S>) -> u32", [nan, -1, nan]), [1])
    m33 = "(a: mat<3,3,F>) -> mat<3,3,F>"
    np.testing.assert_array_equal(call("inverse", m33, np.ones((3, 3))), np.zeros((1, 3, 3)))
