# SPDX-License-Identifier: Apache-2.0
# test_values_in_kernels.py: structs, vectors, matrices, arrays and their parts, run on the CPU.
import enum
import math

import numpy as np
import pytest
import warp_torch as wp


def floats(values, dtype=wp.float32, **options):
    return wp.array(np.asarray(values), dtype=dtype, device="cpu", **options)


def zeros(n, dtype=wp.float32):
    return wp.zeros(n, dtype=dtype, device="cpu")


def run(kernel, *arguments, dim=1):
    wp.launch(kernel, dim=dim, inputs=arguments, device="cpu")


@wp.struct
class Inner:
    a: float
    v: wp.vec3


@wp.struct
class Outer:
    inner: Inner
    n: int
    values: wp.array(dtype=float)
    m: wp.mat22


def test_structs_and_their_parts():
    @wp.func
    def made(x: float):
        r = Inner()
        r.a = x
        r.v = wp.vec3(x, x, x)
        return r

    @wp.kernel
    def k(s: Outer, o: wp.array(dtype=float), out: wp.array(dtype=Inner)):
        o[0] = s.inner.a + s.inner.v[1] + float(s.n) + s.values[1] + s.m[1, 0]
        s.values[0] = 9.0
        s.inner.a = 5.0
        s.inner.v = wp.vec3(1.0, 1.0, 1.0)
        s.inner.v[2] = 7.0
        s.inner.v.x += 1.0
        o[1] = s.inner.a + s.inner.v[2] + s.inner.v[0]
        t = Inner(1.0, wp.vec3(1.0, 2.0, 3.0))
        u = Inner(a=2.0)
        o[2] = t.a + t.v[2] + u.a + u.v[1]
        out[0] = made(2.0)
        out[0].a = out[0].a + 1.0
        out[0].v[1] = 5.0

    s = Outer()
    s.inner.a, s.inner.v, s.n = 1.0, wp.vec3(1.0, 2.0, 3.0), 4
    s.values, s.m = floats([1, 2, 3]), wp.mat22(1.0, 2.0, 3.0, 4.0)
    o, out = zeros(3), zeros(1, Inner)
    run(k, s, o, out)
    assert o.numpy().tolist() == [12.0, 14.0, 6.0]
    assert s.values.numpy().tolist() == [9, 2, 3]
    assert out.numpy()[0].tolist()[0] == 3.0 and out.numpy()["v"][0].tolist() == [2, 5, 2]


def test_vectors_and_their_parts():
    @wp.kernel
    def k(o: wp.array(dtype=wp.vec3), p: wp.array(dtype=float)):
        v = wp.vec3(1.0, 2.0, 3.0)
        v[0] = 4.0
        v.y = 5.0
        v.z += 1.0
        v[1] *= 2.0
        o[0] = v
        o[1].x = 3.0
        o[1][2] = 8.0
        o[1].y += 2.0
        w = wp.vec4(1.0, 2.0, 3.0, 4.0)
        p[0] = w.w + w[-1]
        s = w[1:3]
        p[1] = s[0] + s[1]
        w[0:2] = wp.vec2(7.0, 8.0)
        p[2] = w[0] + w[1]
        w[::2] = 0.0
        w[1:] += wp.vec3(1.0, 2.0, 3.0)
        p[3] = w[0] + 10.0 * w[1] + 100.0 * w[2] + 1000.0 * w[3]
        p[4] = w.dtype(3) + float(len(w)) + float(w.shape[0])
        p[5] = w.yx[0]

    o, p = zeros(2, wp.vec3), zeros(6)
    run(k, o, p)
    assert o.numpy().tolist() == [[4, 10, 4], [3, 2, 8]]
    assert p.numpy().tolist() == [8, 5, 15, 7290, 11, 9]


def test_matrices_and_their_parts():
    @wp.kernel
    def k(o: wp.array(dtype=wp.mat33), p: wp.array(dtype=float)):
        m = wp.mat33(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
        m[0, 1] = 10.0
        m[1] = wp.vec3(0.0, 1.0, 0.0)
        m[2, 2] += 1.0
        m[2][0] = 3.5
        p[0] = m[0][1] + m[-1, -1]
        c = m[:, 1]
        p[1] = c[0] + c[2]
        q = m[0:2, 1:3]
        p[2] = q[0, 0] + q[1, 1]
        m[:, 0] = wp.vec3(1.0, 2.0, 3.0)
        m[1:, 1:] = wp.mat22(5.0, 6.0, 7.0, 8.0)
        m[:, 0] += wp.vec3(1.0, 1.0, 1.0)
        m[0, 1:] *= 2.0
        o[0] = m

    o, p = zeros(1, wp.mat33), zeros(3)
    run(k, o, p)
    assert p.numpy().tolist() == [20, 18, 10]
    assert o.numpy()[0].tolist() == [[2, 20, 6], [3, 5, 6], [4, 7, 8]]


COUNT = wp.constant(17)
AXIS = wp.vec3(1.0, 2.0, 3.0)


class Kind(enum.IntEnum):
    SOFT = 1
    HARD = 5


class Settings:
    gain = wp.constant(3.5)


def test_constants_and_enums():
    @wp.kernel
    def k(kind: int, p: wp.array(dtype=float)):
        p[0] = float(COUNT) + AXIS[1] + Settings.gain
        p[1] = float(int(Kind.HARD)) + float(Kind.SOFT)
        if kind == Kind.HARD:
            p[2] = 1.0
        p[3] = wp.PI
        p[4] = wp.tau + wp.HALF_PI + wp.e
        if wp.isinf(wp.INF) and wp.isnan(wp.nan):
            p[5] = math.pi

    p = zeros(6)
    run(k, Kind.HARD, p)
    wanted = [22.5, 6, 1, math.pi, math.tau + math.pi / 2 + math.e, math.pi]
    np.testing.assert_allclose(p.numpy(), wanted, rtol=1e-7)
    with pytest.raises(wp.ArgumentTypeError, match="constant"):
        wp.constant("text")


@wp.func
def total(r: wp.array(dtype=float)):
    s = 0.0
    for i in range(r.shape[0]):
        s += r[i]
    return s


def test_slices_of_arrays():
    @wp.kernel
    def k(a: wp.array2d(dtype=float), n: int, o: wp.array(dtype=float)):
        o[0] = total(a[1]) + total(a[:, 1])
        o[1] = total(a[0, 1:3])
        o[2] = total(a[1, ::2]) + 100.0 * total(a[1, ::-1][1:])
        o[3] = total(a[0, n:])
        o[4] = total(a[0, -2:]) + 100.0 * float(a[:, 1:n].shape[1])
        part = a[0:1, 2:]
        part[0, 1] = 50.0
        o[5] = float(len(a[5:])) + float(a[:, 3].shape[0])
        o[6] = total(a[0, 3:1]) + total(a[0, 1:-1])

    a, o = floats([[1, 2, 3, 4], [5, 6, 7, 8]]), zeros(7)
    run(k, a, 3, o)
    assert a.numpy()[0].tolist() == [1, 2, 3, 50]
    assert o.numpy().tolist() == [26 + 8, 5, 12 + 1800, 4, 7 + 200, 2, 5]


def test_optional_arrays_and_local_arrays():
    @wp.kernel
    def k(a: wp.array(dtype=float), o: wp.array(dtype=float)):
        if a:
            o[0] = a[0]
        else:
            o[0] = -1.0
        s = wp.zeros(shape=(4,), dtype=float)
        for i in range(4):
            s[i] = float(i * i)
        t = wp.zeros(shape=(2, 3), dtype=wp.vec3)
        t[1, 2] = wp.vec3(1.0, 2.0, 3.0)
        o[1] = s[3] + t[1, 2][2] + t[1, 2].y

    o = zeros(2)
    run(k, None, o)
    assert o.numpy().tolist() == [-1, 14]
    run(k, floats([3.0]), o)
    assert o.numpy().tolist() == [3, 14]


def test_arrays_with_indices():
    @wp.kernel
    def k(a: wp.indexedarray(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        o[i] = a[i] + 100.0 * float(a.shape[0]) + 1000.0 * float(len(a))
        a[i] = a[i] * 2.0
        a[i] += 1.0
        wp.atomic_add(a, i, 10.0)

    data = floats([1, 2, 3, 4, 5])
    view = wp.indexedarray1d(data, [floats([1, 3], wp.int32)])
    assert view.shape == (2,) and view.numpy().tolist() == [2, 4]
    assert isinstance(view, wp.indexedarray) and not isinstance(view, wp.indexedarray2d)
    o = zeros(2)
    run(k, view, o, dim=2)
    assert o.numpy().tolist() == [2202, 2204]
    assert data.numpy().tolist() == [1, 15, 3, 19, 5] and view.numpy().tolist() == [15, 19]
    view.fill_(7.0)
    assert data.numpy().tolist() == [1, 7, 3, 7, 5] and view.contiguous().numpy().tolist() == [7, 7]

    @wp.kernel
    def k2(a: wp.indexedarray2d(dtype=float), o: wp.array2d(dtype=float)):
        i, j = wp.tid()
        o[i, j] = a[i, j]

    whole = floats(np.arange(12.0).reshape(3, 4))
    view = wp.indexedarray(whole, [None, floats([3, 0], wp.int32)])
    o = zeros((3, 2))
    run(k2, view, o, dim=(3, 2))
    assert o.numpy().tolist() == view.numpy().tolist() == [[3, 0], [7, 4], [11, 8]]
    with pytest.raises(wp.ArgumentTypeError, match="1-D array of int32"):
        wp.indexedarray(whole, [floats([0.0])])


def test_gradients_through_indices_and_slices():
    @wp.kernel
    def k(a: wp.indexedarray(dtype=float), b: wp.array2d(dtype=float), o: wp.array(dtype=float)):
        i = wp.tid()
        column = b[:, 1]
        o[i] = a[i] * a[i] * column[i] + total(b[i, 1:])

    data = floats([1, 2, 3, 4], requires_grad=True)
    b = floats([[1, 2, 3], [4, 5, 6]], requires_grad=True)
    o = wp.zeros(2, dtype=float, requires_grad=True, device="cpu")
    tape = wp.Tape()
    with tape:
        run(k, wp.indexedarray(data, [floats([3, 0], wp.int32)]), b, o, dim=2)
    tape.backward(grads={o: floats([1.0, 10.0])})
    assert data.grad.numpy().tolist() == [10 * 2 * 1 * 5, 0, 0, 2 * 4 * 2]
    assert b.grad.numpy().tolist() == [[0, 16 + 1, 1], [0, 10 * 1 + 10, 10]]


def test_round_is_that_of_the_table():
    """Halves go away from zero, as in ports from Warp."""

    @wp.kernel
    def k(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = round(x[i])

    x = floats([2.5, -0.5, 0.4, -3.6])
    run(k, x, dim=4)
    assert x.numpy().tolist() == [3.0, -1.0, 0.0, -4.0]


def test_printf_and_expectations(capfd):
    @wp.kernel
    def k(v: wp.vec3):
        wp.printf("%d and %5.2f%% of %s; %x\n", 3, v[0], "it", wp.uint64(255))
        print("a", v[1], True)
        wp.expect_eq(v, v)
        wp.expect_near(1.0, 1.0001, 0.1)
        wp.expect_near(v, v + wp.vec3(0.0, 0.0, 1.0e-5), 1.0e-3)
        wp.expect_eq(wp.block_dim() > 0, True)

    run(k, wp.vec3(1.0, 2.5, 3.0))
    wp.synchronize()
    assert capfd.readouterr().out == "3 and  1.00% of it; ff\na 2.5 True\n"


@pytest.mark.parametrize(
    "text, message",
    [
        ('wp.printf("%d", x[0])', "wants a value for `%d`, got float32"),
        ('wp.printf("%d %d", 1)', "more conversions than values"),
        ('wp.printf("%d", 1, 2)', "fewer conversions than values"),
        ("wp.printf(1)", "takes a format string first"),
    ],
)
def test_a_wrong_format_is_refused(text, message):
    source = f"def k(x: wp.array(dtype=float)):\n    {text}\n"

    def k(x): ...

    with pytest.raises(wp.KernelError, match=message.replace("(", r"\(")):
        wp.kernel(k, source=source)


def test_slices_beside_computed_indices():
    @wp.kernel
    def k(m: wp.array(dtype=wp.mat33), i: int, out: wp.array(dtype=wp.vec2)):
        a = m[0]
        out[0] = a[i, 1:]
        out[1] = a[:2, (i + 3) % 3 - 3]
        a[i, :2] = wp.vec2(7.0, 8.0)
        a[1:, i] += out[0]
        m[1] = a
        m[2][i, ::2] = out[1]

    m = floats(np.arange(27).reshape(3, 3, 3), wp.mat33)
    for i in (1, -1):
        want = m.numpy().copy()
        out = zeros(2, wp.vec2)
        run(k, m, i, out)
        a = want[0].copy()
        np.testing.assert_array_equal(out.numpy(), [a[i, 1:], a[:2, i]])
        a[i, :2] = 7, 8
        a[1:, i] += out.numpy()[0]
        want[1] = a
        want[2][i, ::2] = out.numpy()[1]
        np.testing.assert_array_equal(m.numpy(), want)
