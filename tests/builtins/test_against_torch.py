# SPDX-License-Identifier: Apache-2.0
# test_against_torch.py: the vjp of every row that PyTorch has too, inside its domain, against
# torch.autograd in float64.
import numpy as np
import pytest
import torch

from tests.builtins import rows
from tests.support import emitted

linalg = torch.linalg
SAMPLES = 16


def symmetric(a):
    return (a + a.mT) / 2


def quaternion_product(a, b):
    u, v = a[:, :3], b[:, :3]
    x = a[:, 3:] * v + b[:, 3:] * u + linalg.cross(u, v)
    return torch.cat([x, a[:, 3:] * b[:, 3:] - (u * v).sum(1, keepdim=True)], 1)


def by_name(name):
    return lambda *xs: getattr(torch, name)(*xs)


def wide(a, b):
    """Scalars beside vectors and matrices."""
    n = max(a.ndim, b.ndim)
    return [x.reshape(x.shape + (1,) * (n - x.ndim)) for x in (a, b)]


SAME = """abs acos add asin atan atan2 ceil clamp copysign cos cosh digamma div erf erfc erfinv exp
    expm1 floor frac hypot lgamma log log10 log1p log2 neg pow round rsqrt sigmoid sign sin sinh sqrt
    sub tan tanh trunc""".split()
FUNCTIONS = {
    **{name: by_name(name) for name in SAME},
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "neg": torch.neg, "pos": lambda x: +x,
    "div": lambda a, b: torch.div(*wide(a, b)), "mod": torch.fmod,
    "degrees": torch.rad2deg, "radians": torch.deg2rad, "rint": torch.round,
    "cbrt": lambda x: x.pow(1 / 3), "fma": lambda a, b, c: a * b + c,
    "gamma": lambda x: torch.lgamma(x).exp(), "softplus": torch.nn.functional.softplus,
    "lerp": lambda a, b, t: torch.lerp(a, b, t.reshape(t.shape + (1,) * (a.ndim - 1))),
    "min": lambda *a: torch.minimum(*a) if len(a) == 2 else a[0].amin(1),
    "max": lambda *a: torch.maximum(*a) if len(a) == 2 else a[0].amax(1),
    "dot": lambda a, b: (a * b).sum(1), "cross": lambda a, b: linalg.cross(a, b),
    "cw_mul": torch.mul, "cw_div": torch.div, "ddot": lambda a, b: (a * b).sum((1, 2)),
    "outer": lambda a, b: a[:, :, None] * b[:, None, :], "length_sq": lambda a: (a * a).sum(1),
    "length": lambda a: linalg.norm(a, dim=1), "norm_l2": lambda a: linalg.norm(a, dim=1),
    "norm_l1": lambda a: a.abs().sum(1), "normalize": lambda a: torch.nn.functional.normalize(a),
    "transpose": lambda a: a.mT, "trace": lambda a: a.diagonal(dim1=1, dim2=2).sum(1),
    "diag": torch.diag_embed, "get_diag": lambda a: a.diagonal(dim1=1, dim2=2),
    "determinant": linalg.det, "inverse": linalg.inv, "inverse_approx": linalg.inv,
    "solve": lambda a, b: linalg.solve(a, b), "cholesky": lambda a: linalg.cholesky(symmetric(a)),
    "cholesky_solve": lambda c, b: torch.cholesky_solve(b[:, :, None], c.tril())[:, :, 0],
    "sincos": lambda x: (x.sin(), x.cos()),
    "complex_mul": lambda a, b: complex_of(torch.mul, a, b),
    "complex_div": lambda a, b: complex_of(torch.div, a, b),
    "complex_exp": lambda a: complex_of(torch.exp, a),
    "complex_log": lambda a: complex_of(torch.log, a),
    "complex_sqrt": lambda a: complex_of(torch.sqrt, a),
    "complex_pow": lambda a, b: complex_of(torch.pow, a, b),
    "complex_abs": lambda a: torch.view_as_complex(a).abs(),
    "complex_arg": lambda a: torch.view_as_complex(a).angle(),
    "where": lambda c, a, b: torch.where(c != 0, a, b),
}  # fmt: skip


def complex_of(f, *xs):
    return torch.view_as_real(f(*(torch.view_as_complex(x) for x in xs)))


def function_of(row):
    kinds = [t.split("<")[0] for t in row["operands"]]
    if row["name"] == "mul":
        if kinds == ["quat", "quat"]:
            return quaternion_product
        if "xform" in kinds:
            return None
        if kinds == ["mat", "vec"]:
            return lambda a, b: (a @ b[:, :, None])[:, :, 0]
        if kinds == ["vec", "mat"]:
            return lambda a, b: (a[:, None, :] @ b)[:, 0]
        return torch.matmul if kinds == ["mat", "mat"] else lambda a, b: torch.mul(*wide(a, b))
    return FUNCTIONS.get(row["name"])


F64 = rows.table(**rows.DOUBLE, only="vjp")
ROWS = [r for r in F64["rows"] if r["rule"] and function_of(r)]


@pytest.fixture(scope="module")
def lib():
    return emitted.load(F64["cpu"], ("-O0",))


def cotangents(row, seed=3):
    rng = np.random.default_rng(seed)
    made = rows.empty(row["results"], SAMPLES)
    return [rng.standard_normal(a.shape).astype(a.dtype) for a in made]


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['name']}{r['sig']}")
def test_vjp(lib, row):
    operands = rows.sample(row, SAMPLES, 21)
    d = cotangents(row)
    x = [torch.tensor(a, requires_grad=rows.is_float(a)) for a in operands]
    y = function_of(row)(*x)
    y = y if isinstance(y, tuple) else (y,)
    floats = [a for a in x if a.requires_grad]
    want = torch.autograd.grad(y, floats, [torch.tensor(a) for a in d], allow_unused=True)
    got = [g for g, a in zip(rows.vjp(lib, row, operands, d), x, strict=True) if a.requires_grad]
    for g, w in zip(got, want, strict=True):
        w = np.zeros_like(g) if w is None else w.numpy()
        # PyTorch's polygamma is good to nine digits.
        np.testing.assert_allclose(g, w, rtol=1e-8, atol=1e-9)
