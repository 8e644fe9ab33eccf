# SPDX-License-Identifier: Apache-2.0
# test_ir.py: what lowering makes of types: weak literals, generic functions, overloads, options.
import re

import numpy as np
import pytest

from tests.support import emitted, language
from tests.support.language import wp

pytestmark = pytest.mark.skipif(language.find_wt_lower() is None, reason="wt_lower is not built")
A = wp.array(dtype=float)


def ir(function, generics=(), **options):
    """IR text without places."""
    text = language.lower(language.Marked(function, "kernel"), generics, **options)
    return re.sub(r" loc\([^\n]*\)(?=\n|$)", "", text)


def run(function, *args, dim=(1,), **options):
    lib = language.library(language.Marked(function, "kernel"), **options)
    emitted.launch(lib, function.__name__, dim, args)


def test_literals_that_meet_nothing_are_f32_and_i32():
    def k(x: A):
        s = 0.5
        n = 1
        for _ in range(3):
            s = s * 2.0
            n += 2
        print(s, n)

    text = ir(k)
    assert "%s = var() : f32" in text and "%n = var() : i32" in text


@pytest.mark.parametrize("dtype, name", [(wp.float16, "f16"), (wp.float64, "f64")])
def test_literals_take_what_they_meet(dtype, name):
    def k(x: wp.array(dtype=dtype)):
        s = 0.5
        t = s
        for _ in range(3):
            t = t * 1.5
            s = t
        x[0] = x[1] * s

    text = ir(k)
    assert f"%s = var() : {name}" in text and f"%t = var() : {name}" in text
    assert "f32" not in text


def test_integer_variable_meets_a_float():
    def k(x: A, i: wp.int64):
        n = 0
        while n < i:
            x[n] = n * x[n]
            n += 1

    text = ir(k)
    assert "%n = var() : i64" in text and "cast(" in text


def test_generic_function_has_one_instance_a_type():
    @wp.func
    def twice(v: wp.Any):
        return v + v

    def k(x: A, y: wp.array(dtype=wp.vec3), n: int):
        x[0] = twice(x[0]) + twice(x[1])
        y[0] = twice(y[0])
        x[1] = float(twice(n)) + twice(0.5)

    text = ir(k)
    assert len(re.findall(r"^func ", text, re.MULTILINE)) == 3
    assert "func @twice(%v: f32) -> f32" in text
    assert "(%v: vec<3,f32>) -> vec<3,f32>" in text and "(%v: i32) -> i32" in text


def test_generic_kernel():
    def k(x: wp.array(dtype=wp.Any), s: wp.Float):
        x[0] = x[1] * s

    text = ir(k, [wp.array(dtype=wp.vec2d), wp.float64])
    assert "kernel @k(%x: array<vec<2,f64>,1>, %s: f64)" in text


def test_overloads_are_chosen_by_type():
    def one(v: float):
        return 1.0

    def other(v: wp.vec3):
        return 2.0

    pick = language.Marked(one, "func")
    pick.overloads = [one, other]

    def k(x: A, v: wp.vec3):
        x[0] = pick(1.5)
        x[1] = pick(v)

    x = np.zeros(2, np.float32)
    run(k, (x, 1), np.zeros(3, np.float32))
    np.testing.assert_array_equal(x, [1, 2])


def test_function_as_argument():
    @wp.func
    def square(v: float):
        return v * v

    @wp.func
    def apply(f: wp.Function, v: float):
        return f(v) + 1.0

    def k(x: A):
        x[0] = apply(square, 3.0)
        x[1] = apply(wp.sin, 0.0)

    x = np.zeros(2, np.float32)
    run(k, (x, 1))
    np.testing.assert_array_equal(x, [10, 1])


@wp.struct
class Pair:
    a: float = 3.0
    b: wp.vec2


@wp.struct
class Nested:
    p: Pair
    n: int


def test_structs():
    def k(x: A, s: Nested):
        t = Nested()
        t.p.b[1] = s.p.b.x + 0.5
        t.p = Pair(a=t.p.a + 1.0, b=t.p.b)
        u = t
        t.n += 4
        s.p.a = 9.0
        x[0] = t.p.a
        x[1] = t.p.b[1]
        x[2] = float(t.n) + float(u.n)
        x[3] = s.p.a

    x = np.zeros(4, np.float32)
    value = Nested(p=Pair(b=wp.vec2(2.0, 0.0)))
    run(k, (x, 1), np.frombuffer(wp.types.struct_bytes(value), np.float32))
    np.testing.assert_array_equal(x, [4, 2.5, 4, 9])


def test_components_of_elements():
    def k(x: wp.array(dtype=wp.vec3), m: wp.array2d(dtype=wp.mat22), y: A):
        x[0].y = 2.0
        x[0][2] += 3.0
        x[0].x -= 1.0
        x[1].xy = wp.vec2(5.0, 6.0)
        x[1][1:3] = x[1].yx
        m[0, 1][1, 0] = 4.0
        m[0, 1][0] = wp.vec2(7.0, 8.0)
        row = m[0]
        y[0] = row[1][1, 0] + m[0, 1, 0, 1]

    text = ir(k)
    assert text.count("kind=add") == 1 and text.count("kind=sub") == 1
    x, m, y = np.zeros((2, 3), np.float32), np.zeros((1, 2, 2, 2), np.float32), np.zeros(1, "f")
    run(k, (x, 1), (m, 2), (y, 1))
    np.testing.assert_array_equal(x, [[-1, 2, 3], [5, 6, 5]])
    np.testing.assert_array_equal(m[0, 1], [[7, 8], [4, 0]])
    assert y[0] == 12


def test_constructors():
    def k(y: A, v: wp.vec3):
        w = wp.vec4(1.0, 2, 3.0, 4)
        m = wp.mat22(1.0, 2.0, 3.0, 4.0)
        s = wp.spatial_vector(v, wp.vec3(2.0))
        q = wp.quat(v, 1.0)
        t = wp.transform(v, q)
        d = wp.vec3d(v)
        e = wp.identity(n=3, dtype=float)
        r = wp.matrix_from_rows(v, v * 2.0)
        c = wp.matrix_from_cols(v, v)
        p = wp.vector(1.0, 2.0, length=2)
        y[0] = w[3] + m[1, 0] + s[4]
        y[1] = q[3] + t.q[0] + t.p[1]
        y[2] = float(d[1]) + e[1, 1] + e[0, 1]
        y[3] = r[1, 2] + c[2, 1] + p[1]
        y[4] = wp.mat22()[0, 0] + wp.vec2()[1] + w[1:3][1] + float(len(m))
        y[5] = float(v == v) + float(v != v)
        y[6] = type(y[0])(3) + wp.cast(0x40000000, dtype=float)

    y = np.zeros(7, np.float32)
    run(k, (y, 1), np.array([1, 2, 3], np.float32))
    np.testing.assert_array_equal(y, [9, 4, 3, 11, 5, 1, 5])


def test_thread_coordinates():
    def k(y: wp.array3d(dtype=int)):
        i, j, l = wp.tid()  # noqa: E741
        y[i, j, l] = 100 * i + 10 * j + l + y.shape[2] * 1000 + y.ndim * 10000

    y = np.zeros((2, 3, 4), np.int32)
    run(k, (y, 3), dim=(2, 3, 4))
    i, j, k_ = np.indices(y.shape)
    np.testing.assert_array_equal(y, 100 * i + 10 * j + k_ + 34000)


def test_options_change_mod_and_div():
    def k(y: wp.array(dtype=int), a: int, b: int, z: A):
        y[0] = a % b
        y[2] = -7 % 3
        y[1] = a // b
        z[0] = float(a / b)

    for options, wanted, quotient in [({}, [-1, -3, -1], -2), ({"python_mod": True}, [2, -3, 2], -2),
                                      ({"python_div": True}, [-1, -3, -1], -7 / 3)]:  # fmt: skip
        y, z = np.zeros(3, np.int32), np.zeros(1, np.float32)
        run(k, (y, 1), np.int32(-7), np.int32(3), (z, 1), **options)
        np.testing.assert_array_equal(y, wanted)
        np.testing.assert_allclose(z, quotient, rtol=1e-6)


def test_optional_array():
    @wp.func
    def total(a: A, w: A):
        if w is None:
            return a[0]
        return a[0] * w[0]

    def k(x: A, w: A):
        x[1] = total(x, w)
        x[2] = total(x, None)

    for w, wanted in [(np.full(1, 4, np.float32), 8), (None, 2)]:
        x = np.array([2, 0, 0], np.float32)
        run(k, (x, 1), (w, 1))
        np.testing.assert_array_equal(x, [2, wanted, 2])


def test_known_condition_drops_the_other_branch():
    use_vectors = False

    def k(x: A):
        if use_vectors:
            x[0] = wp.vec3(1.0)
        elif wp.static(2 > 1):
            x[0] = 1.0
        else:
            x[0] = 2

    text = ir(k)
    assert "if(" not in text and "vec<3" not in text


def test_print_and_assert(capfd):
    def k(x: A, n: int):
        print("a", n, x[0])
        print(f"n = {n}!", 2, sep="-", end=".\n")
        assert n > 0, "n must be positive"
        assert x[0] > 0.0

    text = ir(k)
    assert "print(" in text and '"n must be positive"' in text
    run(k, (np.array([1.5], np.float32), 1), np.int32(3))
    import ctypes

    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == "a 3 1.5\nn = 3!-2.\n"


def test_random_state_is_written_back():
    from warp_torch import frontend

    def k(x: A, seed: int):
        state = wp.rand_init(seed)
        for i in range(2):
            x[i] = wp.randf(state)

    source = frontend.write_unit(k)
    try:
        text = language.lower_text(source.text, source.entry)
    except language.Refused as refused:
        pytest.skip(str(refused))
    assert text.count("set(%state") == 2


def test_the_text_of_select_reads_back():
    # The IR has an op of that name, which takes its operands the other way round.
    def k(x: A, n: int):
        x[0] = wp.select(n > 1, x[0], 2.0)
        x[1] = wp.select(n, x[1], 3.0)

    assert ir(k).count(" where(") == 2 and " select(" not in ir(k)
    for n in (0, 2):
        x = np.array([5.0, 7.0], np.float32)
        run(k, (x, 1), np.int32(n))
        assert x.tolist() == ([5.0, 7.0] if n == 0 else [2.0, 3.0])
