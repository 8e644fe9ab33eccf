# SPDX-License-Identifier: Apache-2.0
# test_meaning.py: kernels compiled and run, beside the same text run by Python itself.
import math
import types as python_types

import numpy as np
import pytest

from tests.support import emitted, language
from tests.support.language import wp

pytestmark = pytest.mark.skipif(language.find_wt_lower() is None, reason="wt_lower is not built")
F = wp.float64
KERNELS = []


def check(*arguments, dim=1):
    """Marks a kernel to be compared with Python for these arguments."""

    def mark(function):
        KERNELS.append(pytest.param(function, dim, arguments, id=function.__name__))
        return function

    return mark


class HostVec(np.ndarray):
    """A vector as the kernel sees it, for Python."""

    x = property(lambda self: self[0], lambda self, v: self.__setitem__(0, v))
    y = property(lambda self: self[1], lambda self, v: self.__setitem__(1, v))
    z = property(lambda self: self[2], lambda self, v: self.__setitem__(2, v))


def host_vec(*parts):
    return np.array(parts if parts else (0.0, 0.0, 0.0), dtype=np.float64).view(HostVec)


def atomic_add(a, i, v):
    old = a[i]
    a[i] += v
    return old


def host_module(thread):
    """What `wp` is while Python runs a kernel."""
    return python_types.SimpleNamespace(
        tid=lambda: thread,
        float64=float,
        int64=int,
        int32=int,
        sin=math.sin,
        min=min,
        max=max,
        abs=abs,
        vec3d=host_vec,
        zeros=lambda shape, dtype: np.zeros(shape, dtype),
        static=lambda x: x,
        atomic_add=atomic_add,
    )


def run_python(function, dim, arguments):
    for thread in range(dim):
        names = dict(function.__globals__, wp=host_module(thread))
        for name, value in names.items():
            if isinstance(value, language.Marked):
                f = value.pyfunc
                names[name] = python_types.FunctionType(f.__code__, names, name, f.__defaults__)
        python_types.FunctionType(function.__code__, names, "k", function.__defaults__)(*arguments)


def packed(argument):
    if not isinstance(argument, np.ndarray):
        return np.int32(argument) if isinstance(argument, int) else np.float64(argument)
    return (argument, argument.ndim)


@pytest.mark.parametrize("function, dim, arguments", KERNELS)
def test_like_python(function, dim, arguments):
    here = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    there = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    run_python(function, dim, here)
    lib = language.library(language.Marked(function, "kernel"))
    emitted.launch(lib, function.__name__, [dim], [packed(a) for a in there])
    for wanted, got in zip(here, there, strict=True):
        if isinstance(wanted, np.ndarray):
            np.testing.assert_allclose(got, wanted, rtol=1e-14)


X = np.array([0.5, 1.5, -2.0, 3.25, 4.0])
N = np.array([7, -3, 2, 5, 0], np.int32)
ZERO = np.zeros(12)
IZERO = np.zeros(12, np.int32)
A1 = wp.array(dtype=F)
I1 = wp.array(dtype=int)


@check(X, ZERO, dim=5)
def thread_index(x: A1, y: A1):
    i = wp.tid()
    y[i] = 2 * x[i] + x[i] ** 2 - x[i] ** 3


@check(X, ZERO, 5)
def weak_sum_in_loop(x: A1, y: A1, n: int):
    s = 0.0
    m = 1
    for i in range(n):
        s += x[i]
        m = m * 2
    y[0] = s
    y[1] = s * m


@check(ZERO, X)
def weak_chain(y: A1, x: A1):
    h = 0.1
    a = b = h + 1.0
    c = a if x[0] > 0.0 else 2.0
    for _ in range(3):
        c = c * h
        b = b + c
    y[0] = b * x[1]
    y[1] = wp.sin(0.5) * x[1]
    y[2] = (0.1 if x[0] > 0 else 0.7) * x[1]


@check(IZERO, -4, 9, 3)
def range_up_and_down(y: I1, a: int, b: int, step: int):
    k = 0
    for i in range(a, b, 3):
        y[k] = i
        k += 1
    for i in range(b, a, -5):
        y[k] = i
        k += 1
    for i in range(b, a):
        y[k] = 100
    for i in reversed(range(1, 4, 2)):
        y[k] = i
        k += 1


@check(IZERO, -4, 9, -4)
def range_of_run_time_step(y: I1, a: int, b: int, step: int):
    k = 0
    for i in range(b, a, step):
        y[k] = i
        k += 1
    for i in reversed(range(b, a, step)):
        y[k] = i
        k += 1


@check(X, ZERO, 5)
def break_continue_else(x: A1, y: A1, n: int):
    for i in range(n):
        if x[i] < 0.0:
            continue
        if x[i] > 3.5:
            y[10] = 1.0
            break
        y[i] = x[i]
    else:
        y[11] = 1.0
    for i in range(2):
        y[7] += x[i]
    else:
        y[8] = 5.0


@check(X, ZERO, 5)
def while_with_everything(x: A1, y: A1, n: int):
    i = 0
    s = 0.0
    while True:
        i += 1
        if i >= n:
            break
        if x[i] < 0:
            continue
        j = 0
        while j < i and s < 50.0:
            j += 1
            if j == 3:
                continue
            s += x[i] * 2 * j
    y[0] = s
    y[1] = wp.float64(i)


@wp.func
def first_over(x: A1, n: int, limit: F = 1.0):
    for i in range(n):
        if x[i] < 0.0:
            continue
        for k in range(3):
            if x[i] + k * 0.25 > limit:
                return x[i] * 10.0, i
    return -1.0, -1


@check(X, ZERO, 5)
def func_with_early_return(x: A1, y: A1, n: int):
    a, i = first_over(x, n)
    y[0] = a
    y[1] = wp.float64(i)
    b, j = first_over(x, n, limit=100.0)
    y[2] = b
    y[3] = wp.float64(j)


@check(X, ZERO, dim=5)
def kernel_with_early_return(x: A1, y: A1):
    i = wp.tid()
    if i == 1:
        return
    if x[i] < 0.0:
        if i == 2:
            y[i] = -7.0
            return
        y[i] = 8.0
    elif x[i] > 3.5:
        return
    y[i] += x[i]


@check(X, ZERO, N)
def lazy_operators(x: A1, y: A1, n: I1):
    k = 40
    if k < 5 and x[k] > 0.0:
        y[0] = 1.0
    if k >= 5 or x[k] > 0.0:
        y[1] = 1.0
    y[2] = x[0] if k >= 5 else x[k]
    if 0 < n[2] < 3 < n[0] != 8:
        y[3] = 1.0
    if not 0 < n[1] < 3:
        y[4] = 1.0
    y[5] = wp.float64(n[4] or n[0])
    y[6] = wp.float64(n[0] and n[1])
    if n[2] in (1, 2, 3) and n[3] not in (1, 2):
        y[7] = 1.0
    if n[0]:
        y[8] = 1.0


@check(X, ZERO)
def tuples(x: A1, y: A1):
    a, b = x[0], x[1]
    a, b = b, a
    y[0], y[1] = a, b
    x[2], x[3] = x[3], x[2]
    t = (a, b, 3.0)
    y[2] = t[0] + t[-1]
    p, (q, r) = 1.0, (a, 2.0)
    y[3] = p + q * r
    n = 0
    for v in t:
        n += 1
        y[4] += v * n
    for i, v in enumerate(t, 1):
        if i == 3:
            break
        y[5] += v * i


@check(X, ZERO)
def vectors(x: A1, y: A1):
    v = wp.vec3d(x[0], x[1], x[2])
    w = wp.vec3d(v[0], v[1], v[2])
    w.x += 4.0
    w[1] = w[1] * 3
    w[2] -= v[0]
    y[0] = v[0]
    y[1] = w.x
    y[2] = w.y
    y[3] = w.z
    s = 0.0
    for c in w:
        s += c
    for i in range(3):
        w[i] = w[i] * i
    for a, b in zip(v, w):
        s += a * b
    y[4] = s
    y[5] = w[-1] + len(v)
    y[6] = sum(w)


@check(X, ZERO, 3)
def local_arrays(x: A1, y: A1, n: int):
    t = wp.zeros(shape=(4,), dtype=F)
    m = wp.zeros(shape=(2, 3), dtype=F)
    for i in range(n):
        t[i] = x[i] * 2
        t[i] += 1.0
        m[1, i] = t[i]
    m[0, 2] = m[1, 1] - t[-1]
    for v in t:
        y[0] += v
    y[1] = m[0, 2] + m[1, 2]
    y[2] = wp.float64(len(t))


@check(N, IZERO)
def integers(n: I1, y: I1):
    y[0] = n[0] // n[2]
    y[1] = n[1] // n[2]
    y[2] = n[0] ** 3 + 2**5
    y[3] = (n[0] & 3) | (n[3] << 2) ^ 1
    y[4] = ~n[0] >> 1
    y[5] = int(3.7) + int(-3.7)
    y[6] = 7 // 2 + -7 // 2 + 7 % 3
    y[7] = min(n[0], n[1], 3) + max(n[0], 8) + abs(n[1])
    y[8] = int(n[0] > 3) + int(True)
    big = 1 << 20
    y[9] = big


@check(X, ZERO, dim=5)
def atomics(x: A1, y: A1):
    i = wp.tid()
    y[0] += x[i]
    y[1] -= x[i] * 2
    old = wp.atomic_add(y, 2, 1.0)
    y[3 + i] = old
    y[3 + i] *= 2.0


@check(X, ZERO, 4)
def nested_functions(x: A1, y: A1, n: int):
    scale = x[1]

    def scaled(v, k):
        if k > 2:
            return v
        return v * scale + wp.float64(k)

    half = lambda v: v * 0.5  # noqa: E731
    for i in range(n):
        y[i] = half(scaled(x[i], i))


@check(X, ZERO, 1.5)
def annotated_and_reassigned_parameter(x: A1, y: A1, a: F):
    b: F = 1.0
    a = a * 2.0
    a += b
    y[0] = a
    y[len(x)] = x[-1] + x[-2]
    pass


@check(X, ZERO, 5)
def set_on_all_paths(x: A1, y: A1, n: int):
    for i in range(n):
        if x[i] > 1.0:
            s = x[i]
        elif x[i] < 0:
            continue
        else:
            s = 1.0
        y[i] = s
    while True:
        last = x[n - 1]
        n -= 1
        if n < 3:
            break
    y[10] = last


TABLE = (1.5, 2.5, 3.5)
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]])


@check(X, ZERO, 1)
def captured(x: A1, y: A1, i: int):
    for k in range(wp.static(len(TABLE))):
        y[k] = x[k] * 2.0
    y[3] = TABLE[1] * x[1]
    y[4] = MATRIX[i, 0] * x[0]
    y[5] = math.pi * x[1] + math.sin(x[0])
