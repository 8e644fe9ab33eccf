# SPDX-License-Identifier: Apache-2.0
# test_native.py: functions whose body is C++ text: values, arrays, structs, gradients, refusals.
from typing import Any

import numpy as np
import pytest
import warp_torch as wp


@wp.func_native(
    "out[i] = a * x[i] + y[i];",
    adj_snippet="adj_a += x[i] * adj_out[i]; adj_x[i] += a * adj_out[i]; adj_y[i] += adj_out[i];",
)
def saxpy(
    a: float,
    x: wp.array(dtype=float),
    y: wp.array(dtype=float),
    out: wp.array(dtype=float),
    i: int,
): ...


@wp.kernel
def run_saxpy(
    a: float, x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)
):
    saxpy(a, x, y, out, wp.tid())


def leaf(values, device, dtype=wp.float32):
    return wp.array(np.asarray(values), dtype=dtype, requires_grad=True, device=device)


def test_arrays_and_their_gradients(device):
    x, y = leaf([1.0, 2.0, 3.0], device), leaf([5.0, 6.0, 7.0], device)
    out = leaf([0.0] * 3, device)
    tape = wp.Tape()
    with tape:
        wp.launch(run_saxpy, dim=3, inputs=[2.0, x, y, out], device=device)
    np.testing.assert_array_equal(out.numpy(), [7.0, 10.0, 13.0])
    tape.backward(grads={out: wp.array([1.0, 10.0, 100.0], dtype=float, device=device)})
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 20.0, 200.0])
    np.testing.assert_array_equal(y.grad.numpy(), [1.0, 10.0, 100.0])


def test_an_array_without_gradient_takes_none(device):
    x, out = leaf([1.0, 2.0], device), leaf([0.0, 0.0], device)
    y = wp.array([1.0, 1.0], dtype=float, device=device)
    tape = wp.Tape()
    with tape:
        wp.launch(run_saxpy, dim=2, inputs=[3.0, x, y, out], device=device)
    out.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 3.0])


@wp.func_native("return x * x * x;", "adj_x += 3.0f * x * x * adj_ret;")
def cube(x: float) -> float: ...


@wp.func
def cube_and_more(x: float):
    return cube(x) * x


@wp.kernel
def run_cube(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    total = 0.0
    for k in range(3):
        if cube(x[i]) > 0.5:
            total += cube_and_more(x[i] + float(k))
    y[i] = total


def test_values_in_functions_loops_and_branches(device):
    values = np.array([0.5, 1.0, 1.5], dtype=np.float32)
    x, y = leaf(values, device), leaf([0.0] * 3, device)
    tape = wp.Tape()
    with tape:
        wp.launch(run_cube, dim=3, inputs=[x, y], device=device)
    shifted = values[:, None] + np.arange(3)
    wanted = np.where(values > 0.8, (shifted**4).sum(1), 0.0)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-5)
    y.grad.fill_(1.0)
    tape.backward()
    slope = np.where(values > 0.8, (4 * shifted**3).sum(1), 0.0)
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-5)


@wp.kernel
def slope_of_cube(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.grad(cube_and_more)(x[i])


def test_grad_of_a_function_that_calls_text():
    x, y = leaf([0.5, 2.0], "cpu"), leaf([0.0, 0.0], "cpu")
    wp.launch(slope_of_cube, dim=2, inputs=[x, y], device="cpu")
    np.testing.assert_allclose(y.numpy(), 4 * np.array([0.5, 2.0]) ** 3, rtol=1e-6)


@wp.struct
class Spring:
    k: float
    ends: wp.vec2
    n: int


@wp.func_native(
    "return s.k * (s.ends[1] - s.ends[0]) * float(s.n);",
    "adj_s.k += (s.ends[1] - s.ends[0]) * float(s.n) * adj_ret;"
    "adj_s.ends[0] -= s.k * float(s.n) * adj_ret; adj_s.ends[1] += s.k * float(s.n) * adj_ret;",
)
def tension(s: Spring) -> float: ...


@wp.kernel
def run_tension(k: wp.array(dtype=float), ends: wp.array(dtype=wp.vec2), f: wp.array(dtype=float)):
    i = wp.tid()
    f[i] = tension(Spring(k[i], ends[i], 3))


def test_structs(device):
    k, f = leaf([2.0, 4.0], device), leaf([0.0, 0.0], device)
    ends = leaf([[1.0, 3.0], [0.0, 5.0]], device, wp.vec2)
    tape = wp.Tape()
    with tape:
        wp.launch(run_tension, dim=2, inputs=[k, ends, f], device=device)
    np.testing.assert_array_equal(f.numpy(), [12.0, 60.0])
    f.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_array_equal(k.grad.numpy(), [6.0, 15.0])
    np.testing.assert_array_equal(ends.grad.numpy(), [[-6.0, 6.0], [-12.0, 12.0]])


@wp.func_native("return wp::cross(a, b) * s + wp::vec3(1.0f, 2.0f, 3.0f) / wp::length(a);")
def vectors(a: wp.vec3, b: wp.vec3, s: float) -> wp.vec3: ...


@wp.func_native("wp::vec2d out = m * v; out[0] += q.w + t.p[1] + t.q.x; return out;")
def doubles(m: wp.mat22d, v: wp.vec2d, q: wp.quatd, t: wp.transformd) -> wp.vec2d: ...


@wp.func_native("return x * wp::half(2.0f) + wp::half(0.1f);")
def halves(x: wp.float16) -> wp.float16: ...


@wp.kernel
def run_types(
    o: wp.array(dtype=wp.vec3), d: wp.array(dtype=wp.vec2d), h: wp.array(dtype=wp.float16)
):
    o[0] = vectors(wp.vec3(3.0, 0.0, 4.0), wp.vec3(0.0, 1.0, 0.0), 2.0)
    one = wp.float64(1.0)
    m = wp.mat22d(one, wp.float64(2.0), wp.float64(3.0), wp.float64(4.0))
    t = wp.transformd(wp.vec3d(one, wp.float64(7.0), one), wp.quatd(wp.float64(0.5), one, one, one))
    d[0] = doubles(m, wp.vec2d(one, one), wp.quatd(one, one, one, wp.float64(9.0)), t)
    h[0] = halves(wp.float16(3.0))


def test_types(device):
    o = wp.zeros(1, dtype=wp.vec3, device=device)
    d = wp.zeros(1, dtype=wp.vec2d, device=device)
    h = wp.zeros(1, dtype=wp.float16, device=device)
    wp.launch(run_types, dim=1, inputs=[o, d, h], device=device)
    wanted = 2 * np.cross([3.0, 0.0, 4.0], [0.0, 1.0, 0.0]) + np.array([1.0, 2.0, 3.0]) / 5
    np.testing.assert_allclose(o.numpy()[0], wanted, rtol=1e-6)
    np.testing.assert_array_equal(d.numpy()[0], [19.5, 7.0])
    assert h.numpy()[0] == np.float16(6.0) + np.float16(0.1)


@wp.func_native("return x + x;", "adj_x += adj_ret + adj_ret;")
def twice(x: Any) -> Any: ...


@wp.kernel
def run_generic(o: wp.array(dtype=wp.float64), v: wp.array(dtype=wp.vec3)):
    o[0] = twice(o[1]) + wp.float64(twice(4))
    v[0] = twice(wp.vec3(1.0, 2.0, 3.0))


def test_generic_text_takes_the_types_that_it_is_given(device):
    o = wp.array([0.0, 1.5], dtype=wp.float64, device=device)
    v = wp.zeros(1, dtype=wp.vec3, device=device)
    wp.launch(run_generic, dim=1, inputs=[o, v], device=device)
    assert o.numpy()[0] == 11.0
    np.testing.assert_array_equal(v.numpy(), [[2.0, 4.0, 6.0]])


@wp.func_native("taken[i] = atomicAdd(counter, 1);", replay_snippet="")
def take(counter: wp.array(dtype=int), taken: wp.array(dtype=int), i: int): ...


@wp.kernel
def scatter(
    x: wp.array(dtype=float),
    counter: wp.array(dtype=int),
    taken: wp.array(dtype=int),
    out: wp.array(dtype=float),
):
    i = wp.tid()
    take(counter, taken, i)
    out[taken[i]] = x[i] * x[i]


def test_what_text_wrote_is_replayed(device):
    x, out = leaf([1.0, 2.0, 3.0, 4.0], device), leaf([0.0] * 4, device)
    counter = wp.zeros(1, dtype=int, device=device)
    taken = wp.zeros(4, dtype=int, device=device)
    tape = wp.Tape()
    with tape:
        wp.launch(scatter, dim=4, inputs=[x, counter, taken, out], device=device)
    assert sorted(out.numpy()) == [1.0, 4.0, 9.0, 16.0] and counter.numpy()[0] == 4
    taken.fill_(0)
    out.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0, 6.0, 8.0])
    assert counter.numpy()[0] == 4


@wp.func_native("return x * y;")
def no_adjoint(x: float, y: float) -> float: ...


@wp.kernel
def uses_no_adjoint(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = no_adjoint(x[i], 2.0)


def test_text_without_adjoint_is_refused_where_a_gradient_must_pass():
    x, y = leaf([1.0], "cpu"), leaf([0.0], "cpu")
    wp.launch(uses_no_adjoint, dim=1, inputs=[x, y], device="cpu")
    assert y.numpy()[0] == 2.0
    with pytest.raises(wp.GradientError, match="no_adjoint.*has no adj_snippet"):
        tape = wp.Tape()
        with tape:
            wp.launch(uses_no_adjoint, dim=1, inputs=[x, y], device="cpu")
        y.grad.fill_(1.0)
        tape.backward()


@wp.func_native("return no_such_function(x);")
def broken(x: float) -> float: ...


@wp.kernel
def uses_broken(y: wp.array(dtype=float)):
    y[0] = broken(1.0)


def test_text_that_does_not_compile_is_named_by_its_python_line():
    with pytest.raises(wp.Error, match="no_such_function") as error:
        wp.launch(uses_broken, dim=1, inputs=[wp.zeros(1, dtype=float, device="cpu")], device="cpu")
    assert error.value.filename == __file__


def test_snippets_are_text():
    with pytest.raises(wp.ArgumentTypeError, match="snippet"):
        wp.func_native(3)
    with pytest.raises(wp.ArgumentTypeError, match="adj_snippet"):
        wp.func_native("return x;", adj_snippet=3)


@wp.func_native("x = x * 2.0f + 1.0f;", "adj_x = 2.0f * adj_x;")
def grow(x: wp.ref[float]): ...


@wp.kernel
def run_grow(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    grow(v)
    grow(v)
    y[i] = v


def test_references_to_text(device):
    x, y = leaf([1.0, 2.0], device), leaf([0.0, 0.0], device)
    tape = wp.Tape()
    with tape:
        wp.launch(run_grow, dim=2, inputs=[x, y], device=device)
    np.testing.assert_array_equal(y.numpy(), [7.0, 11.0])
    y.grad.fill_(1.0)
    tape.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [4.0, 4.0])


@wp.func_native(
    """
    __shared__ int sum[128];
    sum[i] = x[i];
    __syncthreads();
    for (int half = 64; half > 0; half >>= 1) {
        if (i < half) sum[i] += sum[i + half];
        __syncthreads();
    }
    if (i == 0) out[0] = sum[0];
    """
)
def block_sum(x: wp.array(dtype=int), out: wp.array(dtype=int), i: int): ...


@wp.kernel
def run_block_sum(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    block_sum(x, out, wp.tid())


@pytest.mark.cuda
def test_shared_memory_of_a_block():
    x = wp.array(np.arange(128), dtype=int, device="cuda:0")
    out = wp.zeros(1, dtype=int, device="cuda:0")
    wp.launch(run_block_sum, dim=128, inputs=[x, out], block_dim=128)
    assert out.numpy()[0] == 127 * 64


def test_text_runs_in_kernels_only():
    with pytest.raises(wp.ArgumentTypeError, match=r"cube\(\) is C\+\+ text"):
        cube(2.0)
