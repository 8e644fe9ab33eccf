# SPDX-License-Identifier: Apache-2.0
# test_parts.py: threads that write different components and fields of one array element.
import numpy as np
import pytest
import warp_torch as wp

from tests.gradients.finite_difference import array, check, zeros

F = wp.float64
V3 = wp.types.vector(3, F)
M23 = wp.types.matrix((2, 3), F)
pytestmark = pytest.mark.usefixtures("device")


@wp.struct
class Body:
    pos: V3
    mass: F
    kind: int
    frame: M23


@wp.kernel
def by_component(y: wp.array(dtype=F, ndim=2), x: wp.array(dtype=V3)):
    i, j = wp.tid()
    x[i][j] = y[i, j]


@wp.kernel
def by_entry(y: wp.array(dtype=F, ndim=3), m: wp.array(dtype=M23)):
    i, r, c = wp.tid()
    m[i][r, c] = F(2.0) * y[i, r, c]


@wp.kernel
def by_field(y: wp.array(dtype=F, ndim=2), s: wp.array(dtype=Body)):
    i, k = wp.tid()
    if k < 3:
        s[i].pos[k] = y[i, k]
    elif k == 3:
        s[i].mass = y[i, k]
    elif k == 4:
        s[i].kind = int(y[i, k])
    else:
        s[i].frame[(k - 5) // 3, (k - 5) % 3] = y[i, k]


@pytest.mark.parametrize("n", [5, 40_000])
def test_components_of_one_element_are_written_apart(n):
    """Many times over: a store of the whole element would lose what another thread wrote."""
    wanted = np.random.default_rng(0).normal(size=(n, 3))
    for _ in range(3):
        x = wp.zeros(n, dtype=V3)
        wp.launch(by_component, dim=(n, 3), inputs=[wp.array(wanted, dtype=F), x])
        np.testing.assert_array_equal(x.numpy(), wanted)


def test_entries_of_one_matrix_are_written_apart():
    wanted = np.random.default_rng(1).normal(size=(20_000, 2, 3))
    m = wp.zeros(20_000, dtype=M23)
    wp.launch(by_entry, dim=wanted.shape, inputs=[wp.array(wanted, dtype=F), m])
    np.testing.assert_array_equal(m.numpy(), 2 * wanted)


def test_fields_of_one_struct_are_written_apart():
    y = np.random.default_rng(2).normal(size=(20_000, 11)) * 10
    s = wp.zeros(20_000, dtype=Body)
    wp.launch(by_field, dim=y.shape, inputs=[wp.array(y, dtype=F), s])
    got = s.numpy()
    np.testing.assert_array_equal(got["pos"], y[:, :3])
    np.testing.assert_array_equal(got["mass"], y[:, 3])
    np.testing.assert_array_equal(got["kind"], y[:, 4].astype(np.int32))
    np.testing.assert_array_equal(got["frame"].reshape(-1, 6), y[:, 5:])


@wp.kernel
def add_parts(w: wp.array(dtype=F), x: wp.array(dtype=V3), s: wp.array(dtype=Body)):
    i = wp.tid()
    x[0][i % 3] += w[i]
    x[1].x -= w[i]
    x[2].zy += wp.vector(w[i], F(2.0) * w[i])
    s[0].pos[i % 3] += w[i]
    s[0].kind += 2
    s[0].mass -= w[i]


def test_parts_are_added_to_atomically():
    n = 30_000
    w = np.random.default_rng(3).integers(-4, 5, n).astype(np.float64)
    x = wp.zeros(3, dtype=V3)
    s = wp.zeros(1, dtype=Body)
    wp.launch(add_parts, dim=n, inputs=[wp.array(w, dtype=F), x, s])
    by_three = [w[k::3].sum() for k in range(3)]
    total = w.sum()
    np.testing.assert_array_equal(x.numpy(), [by_three, [-total, 0, 0], [0, 2 * total, total]])
    np.testing.assert_array_equal(s.numpy()["pos"][0], by_three)
    assert s.numpy()["kind"][0] == 2 * n and s.numpy()["mass"][0] == -total


@wp.kernel
def chain(x: wp.array(dtype=V3), k: wp.array(dtype=F), rounds: int):
    i, j = wp.tid()
    for r in range(rounds):
        x[i][j] = wp.sin(x[i][j]) * k[j] + x[i][j] * x[i][j]
        x[i][j] *= F(0.5) + k[r]


@wp.kernel
def weigh(x: wp.array(dtype=V3), loss: wp.array(dtype=F)):
    i = wp.tid()
    wp.atomic_add(loss, 0, wp.dot(x[i], V3(F(1.0), F(-2.0), F(0.5))) * F(i + 1) + x[i][1] * x[i][2])


def test_gradient_of_a_chain_of_changes_of_components():
    def run(x, k):
        copy = wp.zeros(4, dtype=V3, requires_grad=True)
        loss = zeros(1)
        wp.launch(by_component, dim=(4, 3), inputs=[x, copy])
        wp.launch(chain, dim=(4, 3), inputs=[copy, k, 3])
        wp.launch(weigh, dim=4, inputs=[copy, loss])
        return loss

    rng = np.random.default_rng(4)
    check(run, rng.uniform(-1, 1, (4, 3)), [0.4, -0.7, 0.9])


@wp.kernel
def shared(x: wp.array(dtype=V3), k: wp.array(dtype=F), out: wp.array(dtype=F)):
    """A component that many threads read, beside one that each writes."""
    i, j = wp.tid()
    if j == 0:
        x[i].x = k[i] * x[i].x
    if j == 1:
        out[i] = x[i].y * x[i].z * x[0].y


def test_components_that_are_read_have_gradients_of_their_own():
    def run(y, k):
        x = wp.zeros(4, dtype=V3, requires_grad=True)
        out, loss = zeros(4), zeros(1)
        wp.launch(by_component, dim=(4, 3), inputs=[y, x])
        wp.launch(shared, dim=(4, 2), inputs=[x, k, out])
        wp.launch(weigh, dim=4, inputs=[x, loss])
        wp.launch(add_squares, dim=4, inputs=[out, loss])
        return loss

    rng = np.random.default_rng(5)
    check(run, rng.uniform(-1, 1, (4, 3)), rng.uniform(-1, 1, 4))


@wp.kernel
def add_squares(x: wp.array(dtype=F), loss: wp.array(dtype=F)):
    i = wp.tid()
    loss[0] += x[i] * x[i]


@wp.kernel
def bodies(y: wp.array(dtype=F, ndim=2), s: wp.array(dtype=Body)):
    i, k = wp.tid()
    s[i].pos[k] = y[i, k]
    s[i].pos[k] += y[i, k] * y[i, k]
    s[i].frame[1, k] = s[i].pos[k] * y[i, 0]
    s[i].frame[1, k] *= F(2.0)
    if k == 0:
        s[i].mass = y[i, 1]
        s[i].mass = s[i].mass * s[i].mass


@wp.kernel
def weigh_bodies(s: wp.array(dtype=Body), loss: wp.array(dtype=F)):
    i = wp.tid()
    b = s[i]
    loss[0] += b.mass * wp.length(b.pos) + b.frame[1, 0] * b.frame[1, 2] + b.frame[1, 1] * F(i + 1)


def test_gradient_of_fields_that_threads_share_out():
    def run(y):
        s = wp.zeros(3, dtype=Body, requires_grad=True)
        loss = zeros(1)
        wp.launch(bodies, dim=(3, 3), inputs=[y, s])
        wp.launch(weigh_bodies, dim=3, inputs=[s, loss])
        return loss

    check(run, np.random.default_rng(6).uniform(0.3, 1.5, (3, 3)))


@wp.kernel
def sums_of_parts(w: wp.array(dtype=F), x: wp.array(dtype=V3)):
    i = wp.tid()
    x[i % 2][i % 3] += w[i] * w[i]
    x[i % 2].y -= wp.sin(w[i])
    x[1].xz += wp.vector(w[i] * w[0], w[i])


def test_gradient_of_additions_to_parts():
    def run(w):
        x = wp.zeros(2, dtype=V3, requires_grad=True)
        loss = zeros(1)
        wp.launch(sums_of_parts, dim=7, inputs=[w, x])
        wp.launch(weigh, dim=2, inputs=[x, loss])
        return loss

    check(run, np.random.default_rng(7).uniform(-1, 1, 7))


def test_jvp_is_that_of_the_differences():
    rng = np.random.default_rng(8)
    y, dy = rng.uniform(-1, 1, (2, 4, 3))
    k, dk = rng.uniform(-1, 1, (2, 3))

    def run(t):
        x = wp.array(y + t * dy, dtype=V3)
        wp.launch(chain, dim=(4, 3), inputs=[x, array(k + t * dk), 3])
        return x.numpy()

    inputs = [wp.array(y, dtype=V3, requires_grad=True), array(k), 3]
    tangents = [wp.array(dy, dtype=V3), array(dk)]
    got = wp.jvp(chain, inputs, {"x": tangents[0], "k": tangents[1]}, dim=(4, 3))["x"].numpy()
    eps = 1e-6
    np.testing.assert_allclose(got, (run(eps) - run(-eps)) / (2 * eps), atol=1e-8)


@wp.kernel
def one_component(x: wp.array(dtype=V3)):
    i = wp.tid()
    x[i].y = x[i].y * x[i].y


def test_the_log_holds_the_component_alone():
    n = 1024
    x = wp.array(np.ones((n, 3)), dtype=V3, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(one_component, dim=n, inputs=[x])
    assert tape.stats()["log_bytes"] == 8 * n


@wp.kernel
def all_components(x: wp.array(dtype=V3), y: wp.array(dtype=V3)):
    i = wp.tid()
    v = x[i]
    y[i][0] = v[1]
    y[i][1] = v[2]
    y[i][2] = v[0]


def test_stores_of_all_components_are_one():
    text = all_components.source("ir")
    assert text.count("store(") == 1 and "part(" not in text


@wp.kernel
def corners(x: wp.array(dtype=V3), low: wp.array(dtype=V3), high: wp.array(dtype=M23)):
    i = wp.tid()
    wp.atomic_min(low, 0, x[i])
    wp.atomic_max(high, 0, M23(x[i][0], x[i][1], x[i][2], F(2.0) * x[i][2], x[i][0], x[i][1]))


@wp.kernel
def weighed(low: wp.array(dtype=V3), high: wp.array(dtype=M23), loss: wp.array(dtype=F)):
    a, m = low[0], high[0]
    loss[0] = (
        a[0] * a[1] + F(3.0) * a[2] + m[0, 0] * m[1, 0] - m[0, 2] * m[1, 1] + m[0, 1] * m[1, 2]
    )


def test_extrema_of_vectors_and_matrices():
    def run(x):
        low, high, loss = array([[9.0] * 3], V3), zeros(1, M23), zeros(1)
        wp.launch(corners, 4, inputs=[x], outputs=[low, high])
        wp.launch(weighed, 1, inputs=[low, high], outputs=[loss])
        return loss

    points = np.array([[0.3, 1.4, 0.9], [1.1, 0.2, 0.5], [0.7, 0.8, 1.6], [0.6, 1.0, 0.4]])

    def loss_of(p):
        a, (x, y, z) = p.min(axis=0), p.max(axis=0)
        return a[0] * a[1] + 3 * a[2] + x * 2 * z - z * x + y * y

    x = array(points, V3)
    tape = wp.Tape()
    with tape:
        loss = run(x)
    tape.backward(loss)
    assert loss.numpy()[0] == pytest.approx(loss_of(points))
    step = 1e-6
    for at in np.ndindex(points.shape):
        d = np.zeros_like(points)
        d[at] = step
        slope = (loss_of(points + d) - loss_of(points - d)) / (2 * step)
        assert x.grad.numpy()[at] == pytest.approx(slope, abs=1e-6)
