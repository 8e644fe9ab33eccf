# SPDX-License-Identifier: Apache-2.0
# test_references.py: references, functions as arguments of kernels, assignment to parts of arrays,
# arrays at addresses, defaults of nested functions, blocks.
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import warp_torch as wp


def leaf(values, dtype=wp.float32):
    return wp.array(np.asarray(values), dtype=dtype, requires_grad=True, device="cpu")


def zeros(n, dtype=wp.float32):
    return wp.zeros(n, dtype=dtype, device="cpu")


def run(kernel, *arguments, dim=1):
    wp.launch(kernel, dim=dim, inputs=arguments, device="cpu")


@wp.func
def add_to(x: wp.ref[float], d: float):
    x = x + d


@wp.func
def add_twice(x: wp.ref[float]):
    x += 1.0
    add_to(x, 10.0)


@wp.func
def halve(x: wp.ref[Any]) -> bool:
    x = x / type(x)(2)
    return x > type(x)(1)


@wp.struct
class Body:
    mass: float
    at: wp.vec3


@wp.kernel
def references(o: wp.array(dtype=float), bodies: wp.array(dtype=Body)):
    v = 1.0
    add_to(v, 2.0)
    o[0] = v
    add_to(o[1], 5.0)
    b = Body()
    add_to(b.mass, 7.0)
    o[2] = b.mass
    add_twice(o[3])
    w = wp.vec3(1.0, 2.0, 3.0)
    add_to(w[1], 1.0)
    add_to(w.z, d=4.0)
    o[4] = w[1] * w[2]
    add_to(bodies[0].at[2], 3.0)
    h = 8.0
    if halve(h):
        o[5] = h
    d = wp.float64(3.0)
    if halve(d):
        o[6] = float(d)


def test_references_change_what_they_are_given():
    o, bodies = zeros(8), wp.zeros(1, dtype=Body, device="cpu")
    run(references, o, bodies)
    np.testing.assert_array_equal(o.numpy(), [3.0, 5.0, 7.0, 11.0, 21.0, 4.0, 1.5, 0.0])
    np.testing.assert_array_equal(bodies.numpy()["at"], [[0.0, 0.0, 3.0]])


@wp.func
def step(q: wp.ref[float], v: wp.ref[float], dt: float):
    v = v - q * dt
    q = q + v * dt


@wp.kernel
def oscillate(q0: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    q = q0[i]
    v = 0.0
    for _ in range(5):
        step(q, v, 0.1)
    out[i] = q


def test_gradients_pass_through_references():
    q0, out = leaf([1.0, 2.0]), leaf([0.0, 0.0])
    tape = wp.Tape()
    with tape:
        run(oscillate, q0, out, dim=2)
    out.grad.fill_(1.0)
    tape.backward()
    # The step is linear in q0.
    np.testing.assert_allclose(q0.grad.numpy(), out.numpy() / q0.numpy(), rtol=1e-6)


def test_a_reference_wants_a_place():
    with pytest.raises(wp.KernelError, match="`x` is a reference") as error:

        @wp.kernel
        def no_place(o: wp.array(dtype=float)):
            add_to(o[0] + 1.0, 2.0)

    assert error.value.code == "WT106"
    with pytest.raises(wp.KernelError, match="a reference as a kernel's parameter"):

        @wp.kernel
        def no_kernel_takes_one(x: wp.ref[float]):
            x = 1.0


@wp.func
def square(x: float):
    return x * x


@wp.func
def third_power(x: float):
    return x * x * x


@wp.kernel
def apply(f: wp.Function, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = f(x[i])


@wp.kernel
def apply_any(x: wp.array(dtype=Any), y: wp.array(dtype=Any), f: Callable, scale: Any):
    i = wp.tid()
    y[i] = f(x[i]) * scale


def test_functions_are_arguments_of_kernels():
    x = leaf([1.0, 2.0, 3.0])
    for f, value, slope in (
        (square, lambda v: v**2, lambda v: 2 * v),
        (third_power, lambda v: v**3, lambda v: 3 * v**2),
        (wp.sin, np.sin, np.cos),
    ):
        y = leaf([0.0] * 3)
        tape = wp.Tape()
        with tape:
            run(apply, f, x, y, dim=3)
        np.testing.assert_allclose(y.numpy(), value(x.numpy()), rtol=1e-6)
        x.grad.zero_()
        y.grad.fill_(1.0)
        tape.backward()
        np.testing.assert_allclose(x.grad.numpy(), slope(x.numpy()), rtol=1e-6)
    x64, y64 = wp.array([0.5], dtype=wp.float64, device="cpu"), zeros(1, wp.float64)
    run(apply_any, x64, y64, wp.cos, wp.float64(2.0))
    assert y64.numpy()[0] == pytest.approx(2 * np.cos(0.5), rel=1e-14)
    command = wp.launch(apply, dim=3, inputs=[square, x, y], device="cpu", record_cmd=True)
    command.set_param_by_name("f", third_power)
    command.launch()
    np.testing.assert_array_equal(y.numpy(), [1.0, 8.0, 27.0])


def test_a_function_argument_is_one():
    with pytest.raises(wp.ArgumentTypeError, match="argument 'f'.*@func"):
        run(apply, 3.0, zeros(1), zeros(1))


@wp.kernel
def parts(a: wp.array2d(dtype=float), b: wp.array(dtype=float), s: float):
    a[0] = b
    a[1, 1:3] = s
    a[2, ::2] += b[0:2]
    a[3, :] *= 2.0
    a[3, 1:] -= 1.0


def test_parts_of_arrays_are_assigned():
    a = wp.array(np.arange(16.0).reshape(4, 4), dtype=float, device="cpu")
    b = wp.array([5.0, 6.0, 7.0, 8.0], dtype=float, device="cpu")
    run(parts, a, b, -1.0)
    wanted = np.arange(16.0).reshape(4, 4)
    wanted[0] = b.numpy()
    wanted[1, 1:3] = -1.0
    wanted[2, ::2] += b.numpy()[0:2]
    wanted[3, :] *= 2.0
    wanted[3, 1:] -= 1.0
    np.testing.assert_array_equal(a.numpy(), wanted)


@wp.kernel
def fill_rows(x: wp.array(dtype=float), rows: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    rows[i, :] = x[i] * x[i]
    rows[i, 0:1] = 0.0
    out[i] = rows[i, 0] + rows[i, 1] * 3.0


def test_gradients_of_assigned_parts():
    x, rows, out = leaf([2.0, 3.0]), leaf(np.zeros((2, 3))), leaf([0.0, 0.0])
    tape = wp.Tape()
    with tape:
        run(fill_rows, x, rows, out, dim=2)
    np.testing.assert_array_equal(out.numpy(), [12.0, 27.0])
    out.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [12.0, 18.0])


@wp.kernel
def at_address(p: wp.uint64, n: int, o: wp.array(dtype=float)):
    a = wp.array(ptr=p, shape=(n, 2), dtype=wp.float32)
    o[0] = a[1, 1]
    o[1] = float(a.shape[0] * 10 + a.ndim)
    a[0, 0] = 42.0


@wp.kernel
def addresses(a: wp.array2d(dtype=wp.float64), o: wp.array(dtype=wp.int64)):
    o[0] = wp.int64(a.strides[0] * 100 + a.strides[1])
    o[1] = wp.int64(wp.address_of(a[1, 2]) - a.ptr)


def test_arrays_at_addresses():
    x = wp.array([[1.0, 2.0], [3.0, 4.0]], dtype=float, device="cpu")
    o = zeros(2)
    run(at_address, wp.uint64(x.ptr), 2, o)
    np.testing.assert_array_equal(o.numpy(), [4.0, 22.0])
    assert x.numpy()[0, 0] == 42.0
    a, p = wp.zeros((3, 4), dtype=wp.float64, device="cpu"), zeros(2, wp.int64)
    run(addresses, a, p)
    np.testing.assert_array_equal(p.numpy(), [3208, 48])
    run(addresses, a.transpose(), p)
    np.testing.assert_array_equal(p.numpy(), [832, 72])


@wp.kernel
def nested_defaults(o: wp.array(dtype=float)):
    k = 3.0

    def scaled(x, by=2.0, *, plus=k):
        return x * by + plus

    o[0] = scaled(1.0)
    o[1] = scaled(1.0, 5.0)
    o[2] = scaled(by=1.0, x=4.0, plus=0.5)
    shift = lambda v, d=10.0: v + d  # noqa: E731
    o[3] = shift(1.0) + shift(1.0, 2.0)


def test_nested_functions_have_defaults():
    o = zeros(4)
    run(nested_defaults, o)
    np.testing.assert_array_equal(o.numpy(), [5.0, 8.0, 4.5, 14.0])


@wp.kernel
def size_of_block(o: wp.array(dtype=int)):
    o[wp.tid()] = wp.block_dim()


def test_a_block_on_the_cpu_is_one_thread():
    o = zeros(2, wp.int32)
    wp.launch(size_of_block, dim=2, inputs=[o], device="cpu", block_dim=64)
    np.testing.assert_array_equal(o.numpy(), [1, 1])


@pytest.mark.cuda
def test_blocks_are_as_large_as_asked():
    o = wp.zeros(4, dtype=int, device="cuda:0")
    for asked in (None, 32, 256, 1024):
        wp.launch(size_of_block, dim=4, inputs=[o], block_dim=asked)
        assert set(o.numpy()) == {asked or 256}


@wp.kernel
def expectations(n: int):
    wp.expect_eq(n * 2, n + n)
    wp.expect_neq(n, 4)
    if n == 7:
        breakpoint()


def test_expectations_are_checked_in_debug_mode():
    run(expectations, 3)
    wp.config.mode = "debug"
    try:
        run(expectations, 3)
        with pytest.raises(wp.KernelError, match=r"expect_neq\(\) failed"):
            run(expectations, 4)
    finally:
        wp.config.mode = "release"


@wp.struct
class OfReferences:
    items: wp.array(dtype=float)
    n: int


@wp.kernel
def holders(hs: wp.array(dtype=OfReferences), x: wp.array(dtype=float)):
    i = wp.tid()
    hs[i].n = 4
    hs[i].items = x
    hs[i].items[i] = 1.0


def test_structs_with_arrays_are_stored():
    hs, x = wp.zeros(2, dtype=OfReferences, device="cpu"), zeros(2)
    run(holders, hs, x, dim=2)
    np.testing.assert_array_equal(hs.numpy()["n"], [4, 4])
    np.testing.assert_array_equal(x.numpy(), [1.0, 1.0])
