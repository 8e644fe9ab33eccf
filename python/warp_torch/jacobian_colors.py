# SPDX-License-Identifier: Apache-2.0
# jacobian_colors.py: Jacobians whose rows depend on elements near their own, from few launches:
# columns that share no row have one colour and are computed together.
"""Compression of sparse Jacobians. What a few columns show of the pattern is taken for all, and the
result is checked against products with random vectors; where these differ, all is computed."""

from __future__ import annotations

import math

import numpy as np

_PROBES = 6
_FEWEST = 16  # elements for which it is worth while


def compressed(p, name, column):
    """{written: matrix} of one argument, or None where it would save nothing or be wrong.

    Args:
        p: the Problem.
        name: the argument.
        column: ``column(direction)`` gives {written: J direction}.
    """
    shape = tuple(p.args[name].shape)
    count = math.prod(shape)
    if not p.types[name].startswith("array") or count < _FEWEST:
        return None
    if any(len(p.args[n].shape) != len(shape) for n in p.written):
        return None
    random = np.random.default_rng(0)
    low, high = _reach(p, name, shape, column, random)
    extent = high - low + 1
    if math.prod(extent.tolist()) * 2 > count:
        return None
    made = _by_colour(p, name, shape, high, extent, column)
    return made if _holds(p, name, made, column, random) else None


def _size(p, name):
    return p.args[name].numpy().size


def _reach(p, name, shape, column, random):
    """Smallest and largest offset, by dimension, from an element to those that depend on it."""
    parts = _size(p, name) // math.prod(shape)
    low = high = np.zeros(len(shape), int)
    middle = np.ravel_multi_index([s // 2 for s in shape], shape)
    for k in {int(middle), *random.integers(math.prod(shape), size=_PROBES).tolist()}:
        direction = np.zeros(_size(p, name), p.args[name].numpy().dtype)
        direction[k * parts : (k + 1) * parts] = random.uniform(0.5, 1.5, parts)
        at = np.array(np.unravel_index(k, shape))
        for n, values in column(direction).items():
            rows = tuple(p.args[n].shape)
            inner = values.size // max(1, math.prod(rows))
            touched = np.unique(np.nonzero(values)[0] // inner)
            offsets = np.stack(np.unravel_index(touched, rows), -1) - at
            if len(offsets):
                low = np.minimum(low, offsets.min(0))
                high = np.maximum(high, offsets.max(0))
    return low, high


def _by_colour(p, name, shape, high, extent, column):
    parts = _size(p, name) // math.prod(shape)
    dtype = p.args[name].numpy().dtype
    indices = np.stack(np.unravel_index(np.arange(math.prod(shape)), shape), -1)
    out = {n: np.zeros((_size(p, n), _size(p, name)), dtype) for n in p.written}
    for colour in np.ndindex(*extent.tolist()):
        chosen = np.nonzero(((indices % extent) == colour).all(-1))[0]
        for part in range(parts):
            direction = np.zeros(_size(p, name), dtype)
            direction[chosen * parts + part] = 1
            for n, values in column(direction).items():
                _spread(out[n], values, tuple(p.args[n].shape), shape, high, extent, colour, part)
    return out


def _spread(matrix, values, rows, shape, high, extent, colour, part):
    """The numbers of one launch to their columns: in reach of a row is one element of a colour."""
    inner = values.size // max(1, math.prod(rows))
    parts = matrix.shape[1] // math.prod(shape)
    r = np.stack(np.unravel_index(np.arange(math.prod(rows)), rows), -1)
    first = r - high
    k = first + (np.array(colour) - first) % extent
    inside = ((k >= 0) & (k < np.array(shape))).all(-1)
    columns = np.ravel_multi_index(tuple(np.where(inside[:, None], k, 0).T), shape) * parts + part
    for i in range(inner):
        at = np.nonzero(inside)[0]
        matrix[at * inner + i, columns[at]] = values[at * inner + i]


def _holds(p, name, made, column, random):
    """Whether products with random vectors are those of the kernel."""
    dtype = p.args[name].numpy().dtype
    tolerance = 1e-9 if dtype == np.float64 else 1e-3 if dtype == np.float32 else 5e-2
    for _ in range(2):
        v = random.uniform(0.5, 1.5, _size(p, name)).astype(dtype)
        for n, values in column(v).items():
            wanted = values.astype(np.float64)
            product = made[n].astype(np.float64) @ v.astype(np.float64)
            size = np.abs(made[n]).astype(np.float64) @ np.abs(v).astype(np.float64) + np.abs(
                wanted
            )
            if not (np.abs(product - wanted) <= tolerance * size + 1e-30).all():
                return False
    return True
