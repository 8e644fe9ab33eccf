# SPDX-License-Identifier: Apache-2.0
# test_arguments.py: gradients when arrays share memory, are strided, lie in structs, or meet more
# threads than the kernel has coordinates.
from typing import Any

import numpy as np
import pytest
import warp_torch as wp

from tests.gradients.finite_difference import array, check, differences, taped, zeros

F = wp.float64
pytestmark = pytest.mark.usefixtures("device")
X4 = [0.9, -1.4, 2.1, 0.6]


@wp.kernel
def product(a: wp.array(dtype=F), b: wp.array(dtype=F), c: wp.array(dtype=F)):
    i = wp.tid()
    c[i] = a[i] * wp.sin(b[i])
    c[i] = c[i] * a[i]


@wp.kernel
def dot(a: wp.array(dtype=F), b: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(loss, 0, a[i] * b[i] * b[i])


@wp.kernel
def neighbours(x: wp.array(dtype=F), y: wp.array(dtype=F), n: int):
    i = wp.tid()
    y[i] = x[i] * x[(i + 1) % n] + x[(i + n - 1) % n]


@wp.kernel
def table(x: wp.array2d(dtype=F), loss: wp.array(dtype=F)):
    i, j = wp.tid()
    wp.atomic_add(loss, 0, wp.exp(x[i, j] * F(0.3)) * F(1 + i * 3 + j))


@wp.kernel
def one_dimension_of_three(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i] * x[i] * F(0.5))


@wp.kernel
def second_coordinate(x: wp.array(dtype=F), y: wp.array2d(dtype=F)):
    i, j = wp.tid()
    y[i, j] = x[j] * x[j] * F(i + 1)


@wp.kernel
def gather(x: wp.array(dtype=F), index: wp.array(dtype=int), loss: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.sin(x[index[i]]) * F(i + 1))


@wp.kernel
def scatter(x: wp.array(dtype=F), index: wp.array(dtype=int), y: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(y, index[i], x[i] * x[i])
    wp.atomic_sub(y, (index[i] + 1) % 3, x[i])


@wp.kernel
def compact(x: wp.array(dtype=F), bound: F, count: wp.array(dtype=int), y: wp.array(dtype=F)):
    i = wp.tid()
    if x[i] > bound:
        k = wp.atomic_add(count, 0, 1)
        y[k] = x[i] * x[i] * x[i]


@wp.kernel
def largest(x: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_max(y, 0, x[i] * x[i])


def summed(x, w):
    loss = zeros(1)
    wp.launch(dot, x.size, inputs=[w, x, loss])
    return loss


WEIGHTS = np.array([0.4, -0.2, 0.8, 1.2])


def test_one_array_as_two_arguments():
    def both_read(x):
        loss = zeros(1)
        wp.launch(dot, 4, inputs=[x, x, loss])
        return loss

    def read_and_written(x):
        wp.launch(product, 4, inputs=[x, x, x])
        return summed(x, array(WEIGHTS, grad=False))

    def output_read(x, y):
        wp.launch(product, 4, inputs=[y, x, y])
        return summed(y, array(WEIGHTS, grad=False))

    check(both_read, X4)
    check(read_and_written, X4)
    check(output_read, X4, [0.4, 0.2, -0.8, 1.2])


@pytest.mark.parametrize("recorded", [False, True])
def test_one_array_as_two_arguments_means_what_python_means(recorded):
    a, b = np.array(X4), np.array(WEIGHTS)
    x = array(X4, grad=recorded)
    with wp.Tape():
        wp.launch(product, 4, inputs=[x, x, x])
    for i in range(4):
        a[i] = a[i] * np.sin(a[i])
        a[i] = a[i] * a[i]
    np.testing.assert_allclose(x.numpy(), a, rtol=1e-14)
    y = array(b, grad=recorded)
    with wp.Tape():
        wp.launch(product, 4, inputs=[array(X4), y, y])
    np.testing.assert_allclose(y.numpy(), np.array(X4) ** 2 * np.sin(b), rtol=1e-14)


def test_overlapping_views_are_refused():
    x = array(X4)
    with wp.Tape(), pytest.raises(wp.GradientError, match="'a' and 'c' share part of their memory"):
        wp.launch(product, 3, inputs=[x[:3], array(X4), x[1:]])
    np.testing.assert_array_equal(x.numpy(), X4)  # and nothing has run


def test_overlapping_views_that_are_read_add_up():
    def run(x):
        loss = zeros(1)
        wp.launch(dot, 3, inputs=[x[:3], x[1:], loss])
        return loss

    check(run, X4)


def test_columns_of_one_matrix_do_not_overlap():
    def run(m):
        wp.launch(product, 3, inputs=[m[:, 0], m[:, 1], m[:, 2]])
        loss = zeros(1)
        wp.launch(table, (3, 3), inputs=[m, loss])
        return loss

    check(run, np.linspace(-1.0, 1.3, 9).reshape(3, 3))


def test_strided_reversed_and_transposed_views():
    def run(m, v):
        loss = zeros(1)
        wp.launch(table, (2, 3), inputs=[m.transpose()[::2], loss])
        wp.launch(table, (2, 2), inputs=[m[::-1, 1:3][:2], loss])
        wp.launch(dot, 2, inputs=[v[::-2], v[1::2], loss])
        return loss

    check(run, np.linspace(-1.0, 1.3, 12).reshape(3, 4), X4)


def test_accesses_that_meet_across_threads():
    n = 257

    def run(x):
        y = zeros(n)
        wp.launch(neighbours, n, inputs=[x, y, n])
        return summed(y, array(np.cos(np.arange(n)), grad=False))

    x = np.sin(np.arange(n) * 0.7)
    _, (g,), _ = taped(run, [x])
    w = np.cos(np.arange(n))
    y = x * np.roll(x, -1) + np.roll(x, 1)
    c = 2 * w * y
    wanted = c * np.roll(x, -1) + np.roll(c * x, 1) + np.roll(c, -1)
    np.testing.assert_allclose(g, wanted, rtol=1e-12)


@pytest.mark.parametrize("dim", [4, (4, 3), (4, 3, 2), (4, 1, 2, 50)])
def test_more_launch_dimensions_than_the_kernel_uses(dim):
    def run(x):
        loss = zeros(1)
        wp.launch(one_dimension_of_three, dim, inputs=[x, loss])
        return loss

    (g,), _ = check(run, X4)
    np.testing.assert_allclose(g, np.array(X4) * (np.prod(dim) // 4), rtol=1e-12)


def test_a_coordinate_that_an_access_does_not_use():
    rows = 3000

    def run(x):
        y = zeros((rows, 2))
        wp.launch(second_coordinate, (rows, 2), inputs=[x, y])
        loss = zeros(1)
        wp.launch(sum2, (rows, 2), inputs=[y, loss])
        return loss

    _, (g,), _ = taped(run, [[0.5, -2.0]])
    np.testing.assert_allclose(g, np.array([1.0, -4.0]) * (rows * (rows + 1) / 2), rtol=1e-12)


@wp.kernel
def sum2(y: wp.array2d(dtype=F), loss: wp.array(dtype=F)):
    i, j = wp.tid()
    wp.atomic_add(loss, 0, y[i, j])


def test_gather_and_scatter():
    index = array([2, 0, 2, 2, 1, 0, 2], wp.int32, False)

    def gathered(x):
        loss = zeros(1)
        wp.launch(gather, 7, inputs=[x, index, loss])
        return loss

    def scattered(x):
        y = zeros(3)
        wp.launch(scatter, 7, inputs=[x, index, y])
        return summed(y, array(WEIGHTS[:3], grad=False))

    check(gathered, X4[:3])
    check(scattered, np.linspace(0.2, 1.5, 7))


def test_an_index_from_a_counter():
    def run(x):
        count, y = zeros(1, wp.int32, False), zeros(6)
        wp.launch(compact, 6, inputs=[x, 0.5, count, y])
        return summed(y, array(np.ones(6), grad=False))

    check(run, [0.7, 0.1, 1.3, 0.9, -2.0, 1.1])


def test_the_largest_of_all_threads():
    def run(x):
        y = zeros(1)
        wp.launch(largest, 5, inputs=[x, y])
        return summed(y, array([2.0], grad=False))

    try:
        (g,), _ = check(run, [0.7, 0.1, -1.3, 0.9, 1.1])
    except wp.GradientError as e:  # allowed, where wrong is not
        assert e.code == "WT303" and e.lineno > 0
    else:
        assert np.count_nonzero(g) == 1


@wp.struct
class Body:
    mass: F
    position: wp.array(dtype=wp.vec3d)
    count: int
    force: wp.array(dtype=wp.vec3d)
    axis: wp.vec3d


@wp.kernel
def gravity(body: Body, out: wp.array(dtype=wp.vec3d)):
    i = wp.tid()
    p = body.position[i]
    r = wp.length(p) + F(body.count)
    out[i] = body.force[i] - p * (body.mass / (r * r * r)) + wp.cross(body.axis, p)


@wp.kernel
def push(body: Body):
    i = wp.tid()
    body.position[i] = body.position[i] + body.force[i] * (F(1.0) / body.mass)
    body.force[i] = wp.cross(body.force[i], body.position[i])


@wp.kernel
def vector_sum(x: wp.array(dtype=wp.vec3d), loss: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.dot(x[i], wp.vec3d(F(1.0), F(-2.0), F(0.5))) * F(i + 1))


def body_of(position, force):
    b = Body()
    b.mass, b.count, b.axis = 1.7, 2, wp.vec3d(0.1, 0.2, 0.3)
    b.position, b.force = position, force
    return b


def vectors(values):
    return wp.array(np.asarray(values), dtype=wp.vec3d, requires_grad=True)


@pytest.mark.parametrize("steps", [0, 2])
def test_arrays_inside_structs(steps):
    rng = np.random.default_rng(5)
    p, f = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))

    def run(p, f):
        loss = zeros(1)
        out = wp.zeros(3, dtype=wp.vec3d, requires_grad=True)
        body = body_of(p, f)
        for _ in range(steps):
            wp.launch(push, 3, inputs=[body])
        wp.launch(gravity, 3, inputs=[body, out])
        wp.launch(vector_sum, 3, inputs=[out, loss])
        return loss

    def flat(p, f):
        p, f = (wp.array(a.numpy(), dtype=wp.vec3d) for a in (p, f))
        return run(p, f)

    pa, fa = vectors(p), vectors(f)
    with wp.Tape() as tape:
        loss = run(pa, fa)
    tape.backward(loss)
    for got, wanted in zip((pa.grad, fa.grad), differences(flat, [p, f])):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-6, atol=1e-7)


def test_a_struct_with_an_array_that_needs_no_gradient():
    p = wp.array(np.eye(3), dtype=wp.vec3d)
    f = vectors(np.ones((3, 3)))
    out = wp.zeros(3, dtype=wp.vec3d, requires_grad=True)
    loss = zeros(1)
    with wp.Tape() as tape:
        wp.launch(gravity, 3, inputs=[body_of(p, f), out])
        wp.launch(vector_sum, 3, inputs=[out, loss])
    tape.backward(loss)
    np.testing.assert_allclose(f.grad.numpy(), np.outer([1, 2, 3], [1.0, -2.0, 0.5]))
    assert p.grad is None


@wp.kernel
def parameters(
    x: wp.array(dtype=F),
    s: F,
    v: wp.vec3d,
    m: wp.mat33d,
    q: wp.quatd,
    n: int,
    on: bool,
    loss: wp.array(dtype=F),
):
    i = wp.tid()
    y = wp.quat_rotate(q, m * (v * x[i])) * s
    if on:
        wp.atomic_add(loss, 0, wp.length(y) * F(n))


def test_scalar_and_vector_parameters():
    def run(x):
        loss = zeros(1)
        m = wp.mat33d(1.0, 2.0, 0.0, 0.0, 1.0, 0.5, 0.3, 0.0, 1.0)
        q = wp.quatd(0.5, 0.5, 0.5, 0.5)
        wp.launch(parameters, 4, inputs=[x, 1.5, wp.vec3d(0.1, 0.9, 0.4), m, q, 3, True, loss])
        return loss

    check(run, X4)


@wp.kernel
def oscillator(x: wp.array(dtype=Any), y: wp.array(dtype=Any), n: int):
    i = wp.tid()
    a = x[i]
    b = a * 0.5
    for k in range(n):
        b = b - 0.1 * wp.sin(a)
        a = a + 0.1 * b
    y[i] = a * b


@wp.kernel
def generic_sum(x: wp.array(dtype=Any), loss: wp.array(dtype=Any)):
    i = wp.tid()
    wp.atomic_add(loss, 0, x[i])


@pytest.mark.parametrize("dtype, rtol", [(wp.float64, 1e-6), (wp.float32, 2e-4)])
def test_both_precisions(dtype, rtol):
    def run(x):
        y, loss = zeros(4, x.dtype), zeros(1, x.dtype)
        wp.launch(oscillator, 4, inputs=[x, y, 20])
        wp.launch(generic_sum, 4, inputs=[y, loss])
        return loss

    _, (got,), _ = taped(run, [X4], dtype)
    (wanted,) = differences(run, [X4])
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol)


@wp.kernel
def components(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    v = wp.vec3d(x[0], x[1], x[2])
    v[0] = v[1] * v[2]
    v.y += v[0] * v[0]
    w = v
    v[2] = w[1] / F(2.0)
    m = wp.mat22d(v[0], v[1], w[2], x[0])
    m[1, 0] = m[0, 1] * m[1, 1]
    m[0, 1] = m[1, 0] + m[0, 0]
    for i in range(2):
        v[i] = v[i + 1] * m[i, 1 - i]
    loss[0] = wp.dot(v, w) + m[0, 1] * m[1, 0]


@wp.kernel
def local_arrays(x: wp.array(dtype=F), loss: wp.array(dtype=F), n: int):
    stack = wp.zeros(shape=(8,), dtype=F)
    top = 0
    for i in range(n):
        stack[top] = x[i % 4] * x[i % 3]
        if i % 3 == 2:
            stack[top - 1] = stack[top - 1] * stack[top] + stack[0]
            top -= 1
        top += 1
    s = F(0.0)
    for i in range(top):
        s += stack[i] * F(i + 1)
    loss[0] = s


def test_components_written_again():
    def run(x):
        loss = zeros(1)
        wp.launch(components, 1, inputs=[x, loss])
        return loss

    check(run, [0.7, 1.3, -0.4])


@pytest.mark.parametrize("n", [3, 9])
def test_a_stack_in_a_local_array(n):
    def run(x):
        loss = zeros(1)
        wp.launch(local_arrays, 1, inputs=[x, loss, n])
        return loss

    check(run, X4)


def test_the_same_memory_wrapped_twice_is_refused():
    data = np.array(X4)
    x = wp.array(data, dtype=F, copy=False, requires_grad=True, device="cpu")
    again = wp.array(data, dtype=F, copy=False, requires_grad=True, device="cpu")
    y = wp.zeros(4, dtype=F, requires_grad=True, device="cpu")
    with wp.Tape():
        wp.launch(product, 4, inputs=[x, x, y])
        with pytest.raises(wp.GradientError, match="as another array before"):
            wp.launch(product, 4, inputs=[y, y, again])
        with pytest.raises(wp.GradientError, match="share part of their memory"):
            wp.launch(product, 4, inputs=[x, y, again])
    np.testing.assert_array_equal(x.numpy(), X4)


@wp.struct
class Chain:
    links: wp.array(dtype=F)
    weight: F


@wp.kernel
def fields_beside_an_array(chain: Chain, loss: wp.array(dtype=F), n: int):
    i = wp.tid()
    c = chain
    for k in range(n):
        if c.links[i] > F(0.5):
            c.weight = c.weight * c.links[(i + k) % n] + c.links[i]
        c.links[i] = c.links[i] * F(0.8) + c.weight * F(0.1)
    loss[0] = c.weight * c.links[i]


def test_a_loop_changes_a_field_beside_an_array():
    def run(x):
        chain, loss = Chain(), zeros(1)
        chain.links, chain.weight = x, 0.7
        wp.launch(fields_beside_an_array, 1, inputs=[chain, loss, 3])
        return loss

    check(run, [0.9, 0.4, 1.3])
