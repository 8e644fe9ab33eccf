# SPDX-License-Identifier: Apache-2.0
# test_kinks.py: derivatives where functions have none in the usual sense: as PyTorch has them.
import numpy as np
import pytest
import torch

from tests.builtins import rows
from tests.support import emitted

INF = float("inf")


def mod(a, b):
    return torch.fmod(a, b)


def column(f):
    """A function of batches of vectors from one of batches of components."""
    return lambda *xs: f(*xs)


# name in the table: (torch's function, arguments; one row a sample)
SCALAR = {
    "abs": (torch.abs, [[0.0], [-0.0], [2], [-3]]),
    "min": (torch.minimum, [[1, 1], [0, -0.0], [1, 2], [INF, INF]]),
    "max": (torch.maximum, [[1, 1], [0, 0], [2, 1], [-INF, -INF]]),
    "clamp": (torch.clamp, [[0, 0, 1], [1, 0, 1], [0.5, 0, 1], [-1, 0, 1], [2, 0, 1], [1, 1, 1],
                            [0, 1, -1], [2, 1, -1], [-2, 1, -1], [1, 1, -1]]),
    "sqrt": (torch.sqrt, [[0], [4], [INF]]),
    "rsqrt": (torch.rsqrt, [[0], [4], [INF]]),
    "log": (torch.log, [[0], [1]]),
    "log2": (torch.log2, [[0], [1]]),
    "log10": (torch.log10, [[0], [1]]),
    "log1p": (torch.log1p, [[-1], [0]]),
    "exp": (torch.exp, [[-INF], [0]]),
    "pow": (torch.pow, [[0, 0], [0, 1], [0, 2], [0, 0.5], [0, 3], [2, 0], [-2, 2], [-2, 3], [1, 0],
                        [0, -1], [-1, 0]]),
    "atan2": (torch.atan2, [[0, 0], [0, 1], [0, -1], [1, 0], [-0.0, -1]]),
    "asin": (torch.asin, [[1], [-1], [0]]),
    "acos": (torch.acos, [[1], [-1], [0]]),
    "atan": (torch.atan, [[INF], [0]]),
    "tanh": (torch.tanh, [[INF], [0], [40]]),
    "sign": (torch.sign, [[0], [2], [-2]]),
    "floor": (torch.floor, [[0], [1.5]]),
    "ceil": (torch.ceil, [[0], [1.5]]),
    "round": (torch.round, [[0.5], [1.7]]),
    "rint": (torch.round, [[0.5], [1.7]]),
    "trunc": (torch.trunc, [[0], [1.7], [-1.7]]),
    "frac": (torch.frac, [[0], [1.7], [-1.7]]),
    "mod": (torch.fmod, [[0, 2], [4, 2], [-4, 2], [5, -3], [7.5, 2]]),
    "copysign": (torch.copysign, [[0, 1], [0, -1], [2, -1], [-2, -1]]),
    "sigmoid": (torch.sigmoid, [[0], [800], [-800]]),
    "softplus": (torch.nn.functional.softplus, [[0], [-800], [19]]),
    "erf": (torch.erf, [[0], [INF]]),
    "erfc": (torch.erfc, [[0], [INF]]),
    "erfinv": (torch.erfinv, [[1], [-1], [0]]),
    "lgamma": (torch.lgamma, [[1], [2.5]]),
    "digamma": (torch.digamma, [[1], [2.5]]),
    "expm1": (torch.expm1, [[0], [-INF]]),
    "sinh": (torch.sinh, [[0]]),
    "cosh": (torch.cosh, [[0]]),
    "div": (torch.div, [[0, 1], [1, INF], [1, 0], [0, 0]]),
    "lerp": (torch.lerp, [[1, 1, 0], [1, 2, 1], [1, 2, 3]]),
}  # fmt: skip
VECTOR = {
    "length": (lambda v: torch.linalg.norm(v, dim=1), [[0, 0, 0], [3, 0, 4]]),
    "norm_l2": (lambda v: torch.linalg.norm(v, dim=1), [[0, 0, 0], [3, 0, 4]]),
    "norm_l1": (lambda v: v.abs().sum(1), [[0, 0, 0], [0, -2, 3]]),
    "min": (lambda v: v.amin(1), [[1, 1, 1], [0, 2, 0], [3, 1, 2]]),
    "max": (lambda v: v.amax(1), [[1, 1, 1], [0, 2, 2], [3, 1, 2]]),
    "abs": (torch.abs, [[0, -1, 2]]),
}  # fmt: skip
TYPES = ["F=f64", "S=f64", "I=i32", "B=bool", "T=f64", "N=3", "M=2", "K=4", "P=5"]


@pytest.fixture(scope="module")
def table():
    return rows.table_of([*TYPES, *dict.fromkeys([*SCALAR, *VECTOR])])


@pytest.fixture(scope="module")
def lib(table):
    return emitted.load(table["cpu"], ("-O0",))


def row_of(table, name, operands):
    return next(r for r in table["rows"] if r["name"] == name and r["operands"] == operands)


def by_torch(f, operands, d):
    x = [torch.tensor(a, requires_grad=True) for a in operands]
    y = f(*x)
    if not y.requires_grad:
        return [np.zeros_like(a) for a in operands]
    got = torch.autograd.grad(y, x, torch.tensor(d), allow_unused=True)
    return [
        np.zeros_like(a) if g is None else g.numpy() for g, a in zip(got, operands, strict=True)
    ]


@pytest.mark.parametrize("name", SCALAR)
def test_scalar(table, lib, name):
    f, samples = SCALAR[name]
    operands = [np.array(column, float) for column in zip(*samples, strict=True)]
    row = row_of(table, name, ["f64"] * len(operands))
    d = np.linspace(1.0, 2.0, len(samples))
    for got, want in zip(rows.vjp(lib, row, operands, [d]), by_torch(f, operands, d), strict=True):
        # PyTorch's trigamma is good to nine digits.
        rtol = 1e-8 if name == "digamma" else 1e-12
        np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("name", VECTOR)
def test_vector(table, lib, name):
    f, samples = VECTOR[name]
    v = np.array(samples, float)
    row = row_of(table, name, ["vec<3,f64>"])
    d = np.linspace(1.0, 2.0, v.size if name == "abs" else len(v)).reshape(
        v.shape if name == "abs" else -1
    )
    got = rows.vjp(lib, row, [v], [d])[0]
    np.testing.assert_allclose(got, by_torch(f, [v], d)[0], rtol=1e-12, atol=1e-12)
