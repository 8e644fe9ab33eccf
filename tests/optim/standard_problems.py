# SPDX-License-Identifier: Apache-2.0
# standard_problems.py: the unconstrained test problems as torch functions, with known minima.
"""Problems of J. J. More, B. S. Garbow, K. E. Hillstrom, ACM TOMS 7 (1981), from their standard
starts. Written apart from standard_problems.cpp; derivatives come from torch autograd."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch


def _t(*values):
    return torch.tensor(values, dtype=torch.float64)


@dataclass(frozen=True)
class Problem:
    name: str
    start: torch.Tensor
    minima: tuple  # values of |r|^2 at the known minimisers
    residuals: Callable[[torch.Tensor], torch.Tensor]

    def objective(self, x):
        return (self.residuals(x) ** 2).sum()

    def is_solved(self, value):
        """Four digits of the objective, absolute where the minimum is zero."""
        return any(abs(value - m) <= 1e-4 * (m if m else 1.0) for m in self.minima)


def _rosenbrock(x):
    return torch.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])


def _freudenstein_roth(x):
    a, b = x
    return torch.stack([-13 + a + ((5 - b) * b - 2) * b, -29 + a + ((b + 1) * b - 14) * b])


def _powell_badly_scaled(x):
    return torch.stack([1e4 * x[0] * x[1] - 1, torch.exp(-x[0]) + torch.exp(-x[1]) - 1.0001])


def _brown_badly_scaled(x):
    return torch.stack([x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2])


def _beale(x):
    return _t(1.5, 2.25, 2.625) - x[0] * (1 - x[1] ** _t(1, 2, 3))


def _jennrich_sampson(x):
    i = torch.arange(1, 11, dtype=torch.float64)
    return 2 + 2 * i - (torch.exp(i * x[0]) + torch.exp(i * x[1]))


def _helical_valley(x):
    theta = torch.atan(x[1] / x[0]) / (2 * math.pi) + (0.5 if x[0] < 0 else 0.0)
    return torch.stack([10 * (x[2] - 10 * theta), 10 * (torch.hypot(x[0], x[1]) - 1), x[2]])


_BARD_Y = _t(
    0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39
)


def _bard(x):
    u = torch.arange(1, 16, dtype=torch.float64)
    v = 16 - u
    return _BARD_Y - (x[0] + u / (v * x[1] + torch.minimum(u, v) * x[2]))


_MEYER_Y = _t(
    34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744,
    8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872,
)  # fmt: skip


def _meyer(x):
    t = 45 + 5 * torch.arange(1, 17, dtype=torch.float64)
    return x[0] * torch.exp(x[1] / (t + x[2])) - _MEYER_Y


def _box_3d(x):
    t = 0.1 * torch.arange(1, 11, dtype=torch.float64)
    return torch.exp(-t * x[0]) - torch.exp(-t * x[1]) - x[2] * (torch.exp(-t) - torch.exp(-10 * t))


def _powell_singular(x):
    return torch.stack(
        [
            x[0] + 10 * x[1],
            math.sqrt(5) * (x[2] - x[3]),
            (x[1] - 2 * x[2]) ** 2,
            math.sqrt(10) * (x[0] - x[3]) ** 2,
        ]
    )


def _wood(x):
    return torch.stack(
        [
            10 * (x[1] - x[0] ** 2),
            1 - x[0],
            math.sqrt(90) * (x[3] - x[2] ** 2),
            1 - x[2],
            math.sqrt(10) * (x[1] + x[3] - 2),
            (x[1] - x[3]) / math.sqrt(10),
        ]
    )


_KOWALIK_Y = _t(
    0.1957, 0.1947, 0.1735, 0.1600, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246
)
_KOWALIK_U = _t(4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625)


def _kowalik_osborne(x):
    u = _KOWALIK_U
    return _KOWALIK_Y - x[0] * (u * u + u * x[1]) / (u * u + u * x[2] + x[3])


def _brown_dennis(x):
    t = torch.arange(1, 21, dtype=torch.float64) / 5
    return (x[0] + t * x[1] - torch.exp(t)) ** 2 + (x[2] + x[3] * torch.sin(t) - torch.cos(t)) ** 2


def _extended_rosenbrock(x):
    odd, even = x[0::2], x[1::2]
    return torch.cat([10 * (even - odd**2), 1 - odd])


def _broyden_tridiagonal(x):
    zero = x.new_zeros(1)
    before = torch.cat([zero, x[:-1]])
    after = torch.cat([x[1:], zero])
    return (3 - 2 * x) * x - before - 2 * after + 1


PROBLEMS = [
    Problem("rosenbrock", _t(-1.2, 1), (0.0,), _rosenbrock),
    Problem("freudenstein_roth", _t(0.5, -2), (0.0, 48.9842536), _freudenstein_roth),
    Problem("powell_badly_scaled", _t(0, 1), (0.0,), _powell_badly_scaled),
    Problem("brown_badly_scaled", _t(1, 1), (0.0,), _brown_badly_scaled),
    Problem("beale", _t(1, 1), (0.0,), _beale),
    Problem("jennrich_sampson", _t(0.3, 0.4), (124.362182,), _jennrich_sampson),
    Problem("helical_valley", _t(-1, 0, 0), (0.0,), _helical_valley),
    Problem("bard", _t(1, 1, 1), (8.21487731e-3,), _bard),
    Problem("meyer", _t(0.02, 4000, 250), (87.9458551,), _meyer),
    Problem("box_3d", _t(0, 10, 20), (0.0,), _box_3d),
    Problem("powell_singular", _t(3, -1, 0, 1), (0.0,), _powell_singular),
    Problem("wood", _t(-3, -1, -3, -1), (0.0,), _wood),
    Problem("kowalik_osborne", _t(0.25, 0.39, 0.415, 0.39), (3.07505604e-4,), _kowalik_osborne),
    Problem("brown_dennis", _t(25, 5, -5, -1), (85822.2016,), _brown_dennis),
    Problem("extended_rosenbrock", _t(-1.2, 1).repeat(50), (0.0,), _extended_rosenbrock),
    Problem("broyden_tridiagonal", -torch.ones(30).double(), (0.0,), _broyden_tridiagonal),
]
BY_NAME = {problem.name: problem for problem in PROBLEMS}
