# SPDX-License-Identifier: Apache-2.0
# test_functions.py: functions in kernels: defaults, overloads, generics, closures, static, operators.
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import warp_torch as wp


def floats(values, dtype=wp.float32):
    return wp.array(np.asarray(values), dtype=dtype, device="cpu")


def zeros(n, dtype=wp.float32):
    return wp.zeros(n, dtype=dtype, device="cpu")


def run(kernel, *arguments, dim=1):
    wp.launch(kernel, dim=dim, inputs=arguments, device="cpu")


@wp.kernel
def uses_what_follows(o: wp.array(dtype=float)):
    o[0] = defined_later(2.0) + LATER


@wp.func
def defined_later(x: float):
    return x * 10.0


LATER = 1.0


def test_a_kernel_may_use_what_the_module_defines_after_it():
    o = zeros(1)
    run(uses_what_follows, o)
    assert o.numpy()[0] == 21.0


@wp.func
def defaults(a: float, b: float = 2.0, c: int = 3):
    return a * b + float(c)


@wp.func
def shape_of(x: float):
    return 1.0


@wp.func
def shape_of(x: int):  # noqa: F811 - an overload
    return 2.0


@wp.func
def shape_of(x: wp.vec3):  # noqa: F811
    return 3.0 + x[0]


@wp.func
def several(a: float) -> tuple[float, int, wp.vec3]:
    return a, 3, wp.vec3(a)


@wp.func
def product(a: Any, b: Any):
    return a * b


@wp.func
def self_product(v: wp.types.vector(length=Any, dtype=Any)):
    s = v.dtype(0)
    for i in range(len(v)):
        s += v[i] * v[i]
    return s


@wp.func
def square(x: float):
    return x * x


@wp.func
def cube(x: float):
    return x * x * x


@wp.func
def apply(f: Callable, x: float):
    return f(x)


def test_arguments_overloads_and_generics():
    @wp.kernel
    def k(o: wp.array(dtype=float)):
        o[0] = defaults(1.0)
        o[1] = defaults(1.0, c=7)
        o[2] = defaults(b=3.0, a=2.0)
        o[3] = shape_of(1.0) + 10.0 * shape_of(1) + 100.0 * shape_of(wp.vec3(1.0))
        a, b, c = several(2.0)
        o[4] = a + float(b) + c[2]
        o[5] = product(2.0, 3.0) + float(product(4, 5)) + product(wp.vec3(1.0, 2.0, 3.0), 2.0)[1]
        o[6] = self_product(wp.vec3(1.0, 2.0, 3.0)) + self_product(wp.vec2(1.0, 1.0))
        f = square
        o[7] = apply(cube, 2.0) + apply(square, 3.0) + f(1.0)

    o = zeros(8)
    run(k, o)
    assert o.numpy().tolist() == [5.0, 9.0, 9.0, 421.0, 7.0, 30.0, 16.0, 18.0]


def test_a_function_on_the_host_takes_the_overload_that_fits():
    assert shape_of(1.0) == 1.0 and shape_of(1) == 2.0 and shape_of(wp.vec3(1.0)) == 4.0


def factory(n, f):
    @wp.kernel
    def made(o: wp.array(dtype=float)):
        i = wp.tid()
        o[i] = f(float(i)) * float(n)

    return made


def adder(c):
    @wp.func
    def g(x: float):
        return x + c

    return g


def test_each_kernel_of_a_factory_keeps_what_it_captured():
    kernels = [factory(1, square), factory(2, cube), factory(3, adder(5.0)), factory(3, adder(6.0))]
    out = []
    for k in kernels:
        o = zeros(3)
        run(k, o, dim=3)
        out.append(o.numpy().tolist())
    assert out == [[0, 1, 4], [0, 2, 16], [15, 18, 21], [18, 21, 24]]


def test_static_expressions():
    count, functions = 4, [square, cube]

    @wp.kernel
    def k(o: wp.array(dtype=float)):
        for _i in range(wp.static(count * 2)):
            o[0] += 1.0
        o[1] = wp.static(functions[1])(2.0)
        o[2] = wp.static(wp.vec3(1.0, 2.0, 3.0))[1]
        for i in range(wp.static(len(functions))):
            o[3] = o[3] + wp.static(functions[i])(3.0) * float(i + 1)
        if wp.static(count > 3):
            o[4] = 1.0
        o[5] = float(wp.static(sum(i * i for i in range(count))))

    o = zeros(6)
    run(k, o)
    assert o.numpy().tolist() == [8.0, 8.0, 2.0, 63.0, 1.0, 14.0]


def test_a_static_loop_over_run_time_bounds_is_refused():
    def declare():
        @wp.kernel
        def k(o: wp.array(dtype=float), n: int):
            for i in range(n):
                o[0] = o[0] + wp.static(i * 2.0)

    with pytest.raises(wp.KernelError, match="WT018.*bounds are not constant"):
        declare()


@wp.struct
class Complex:
    re: float
    im: float


@wp.func
def add(a: Complex, b: Complex) -> Complex:
    return Complex(a.re + b.re, a.im + b.im)


@wp.func
def mul(a: Complex, b: Complex):
    return Complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)


@wp.func
def neg(a: Complex):
    return Complex(-a.re, -a.im)


def test_operators_of_ones_own():
    @wp.kernel
    def k(a: Complex, b: Complex, o: wp.array(dtype=float)):
        c = -(a + b * b)
        c += a
        c *= b
        o[0] = c.re + 1.0
        o[1] = c.im * 2.0

    o = zeros(2)
    run(k, Complex(1.0, 2.0), Complex(3.0, 4.0), o)
    wanted = (-((1 + 2j) + (3 + 4j) ** 2) + (1 + 2j)) * (3 + 4j)
    assert o.numpy().tolist() == [wanted.real + 1.0, wanted.imag * 2.0]


@wp.kernel
def scale(x: wp.array(dtype=Any), s: Any):
    i = wp.tid()
    x[i] = x[i] * s


@wp.kernel
def scale_again(x: wp.array(dtype=Any), s: Any):
    i = wp.tid()
    x[i] = x[i] * s


@wp.overload
def scale_again(x: wp.array(dtype=wp.float16), s: wp.float16): ...  # noqa: F811


def test_generic_kernels_take_their_types_from_the_arguments():
    for dtype, s, wanted in (
        (wp.float32, 2.0, [2, 4]),
        (wp.float64, wp.float64(3), [3, 6]),
        (wp.int32, 4, [4, 8]),
        (wp.float64, np.float64(5), [5, 10]),
    ):
        x = floats([1, 2], dtype)
        run(scale, x, s, dim=2)
        assert x.numpy().tolist() == wanted
    v = floats([[1, 2, 3]], wp.vec3)
    run(scale, v, 2.0)
    assert v.numpy().tolist() == [[2, 4, 6]]


def test_overloads_of_a_generic_kernel():
    double = wp.overload(scale, [wp.array(dtype=wp.float64), wp.float64])
    assert not double.is_generic and scale.is_generic
    x = floats([1, 2], wp.float64)
    run(double, x, 3.0, dim=2)
    run(scale, x, 3.0, dim=2)  # the overload settles what the Python number is
    assert x.numpy().tolist() == [9, 18]
    by_name = wp.overload(scale, {"x": wp.array(dtype=float), "s": float})
    y = floats([1, 2])
    run(by_name, y, 3.0, dim=2)
    h = floats([1, 2], wp.float16)
    run(scale_again, h, 3.0, dim=2)
    assert y.numpy().tolist() == h.numpy().tolist() == [3, 6]
    with pytest.raises(wp.ArgumentTypeError, match="is a|settled"):
        wp.overload(scale, [wp.array(dtype=Any), float])
    with pytest.raises(wp.ArgumentValueError, match="got 1 types, wanted 2"):
        wp.overload(scale, [wp.array(dtype=float)])


def test_scalar_generics():
    @wp.kernel
    def k(x: wp.array(dtype=wp.Scalar), y: wp.array(dtype=wp.Float)):
        i = wp.tid()
        y[i] = y[i] + y.dtype(x[i])

    x, y = floats([1, 2], wp.int32), floats([1, 2], wp.float64)
    run(k, x, y, dim=2)
    assert y.numpy().tolist() == [2, 4]
    with pytest.raises(wp.KernelError, match="WT119"):
        run(k, y, x, dim=2)


def test_annotations_of_results_are_optional_and_checked():
    @wp.func
    def pair(x: float) -> tuple[float, float]:
        return x, 2.0 * x

    @wp.kernel
    def k(o: wp.array(dtype=float)):
        a, b = pair(1.0)
        o[0] = a + b

    o = zeros(1)
    run(k, o)
    assert o.numpy()[0] == 3.0


def test_the_state_of_random_numbers_may_be_a_parameter():
    @wp.func
    def two(state: wp.uint32):
        a = wp.randf(state)
        return a, wp.randf(state)

    @wp.kernel
    def k(seed: wp.uint32, o: wp.array(dtype=float)):
        a, b = two(seed)
        o[0] = a
        o[1] = b
        o[2] = wp.randf(seed)
        o[3] = wp.randf(seed)

    o = zeros(4)
    run(k, wp.uint32(7), o)
    a, b, c, d = o.numpy()
    assert a != b and (a, b) == (c, d)  # a parameter is a copy of what it is given


@wp.func
def first_that_fits(x: float):
    if x > 2.0:
        return 20.0
    elif x > 1.0:
        return 10.0
    elif x > 0.0:
        x = x + 100.0
        if x > 100.6:
            return x
    return x - 1.0


@wp.kernel
def returns_from_elif(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = first_that_fits(x[i])
    for k in range(3):
        if k == 2:
            break
        elif x[i] > 2.0:
            continue
        y[i] += 1.0


def test_returns_and_exits_from_elif():
    x = wp.array([3.0, 1.5, 0.75, 0.5, -1.0], dtype=float, device="cpu")
    y = wp.zeros(5, dtype=float, device="cpu")
    wp.launch(returns_from_elif, dim=5, inputs=[x, y], device="cpu")
    np.testing.assert_array_equal(y.numpy(), [20.0, 12.0, 102.75, 101.5, 0.0])


@wp.kernel
def same_bits(o: wp.array(dtype=wp.uint32), f: wp.array(dtype=float)):
    o[0] = wp.cast(1.0, wp.uint32)
    o[1] = wp.cast(f[0], dtype=wp.uint32)
    f[1] = wp.cast(wp.uint32(1078530011), float)
    a = wp.zeros(shape=(4, 2), dtype=float)
    f[2] = float(a.shape[0] * 10 + a.shape[1] + a.ndim)


def test_cast_keeps_bits():
    o = wp.zeros(2, dtype=wp.uint32, device="cpu")
    f = wp.array([-2.5, 0.0, 0.0], dtype=float, device="cpu")
    wp.launch(same_bits, dim=1, inputs=[o, f], device="cpu")
    bits = np.array([1.0, -2.5], dtype=np.float32).view(np.uint32)
    np.testing.assert_array_equal(o.numpy(), bits)
    np.testing.assert_allclose(f.numpy()[1:], [np.pi, 44.0], rtol=1e-7)


@wp.kernel
def views_and_squares(a: wp.array3d(dtype=float), o: wp.array(dtype=float)):
    r = wp.view(a, 1)
    s = wp.view(a, 1, 2)
    o[0] = r[0, 0] + s[1] + float(r.shape[0])
    o[1] = np.square(s[0])


def test_views_by_name():
    a = wp.array(np.arange(24.0).reshape(2, 3, 4), dtype=float, device="cpu")
    o = zeros(2)
    run(views_and_squares, a, o)
    np.testing.assert_array_equal(o.numpy(), [12.0 + 21.0 + 3.0, 400.0])
