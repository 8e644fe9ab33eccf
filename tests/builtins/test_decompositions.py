# SPDX-License-Identifier: Apache-2.0
# test_decompositions.py: decompositions of singular and repeated cases, and their derivatives there.
import numpy as np
import pytest
import torch
import warp_torch as wp
from scipy.spatial.transform import Rotation

from tests.builtins import rows
from tests.support import emitted

NAMES = ["svd", "svd2", "svd3", "qr3", "eig3", "solve", "inverse", "quat_exp", "quat_log", "quat_slerp",
         "quat_between_vectors", "normalize", "length", "determinant"]  # fmt: skip


@pytest.fixture(scope="module")
def table():
    types = [f"{k}={v}" for k, v in rows.DOUBLE.items()]
    return rows.table_of([*types, *NAMES])


@pytest.fixture(scope="module")
def lib(table):
    return emitted.load(table["cpu"], ("-O0",))


@pytest.fixture
def run(table, lib):
    def call(name, *operands, cotangents=None, like=""):
        row = next(r for r in table["rows"] if r["name"] == name and like in r["sig"])
        given = [np.ascontiguousarray(x, float) for x in [*operands, *(cotangents or [])]]
        if not cotangents:
            return rows.call(lib, row["kernel"], given, row["results"])
        return rows.vjp(lib, row, given[: len(operands)], given[len(operands) :])

    return call


def special_matrices():
    rng = np.random.default_rng(1)
    m = [np.zeros((3, 3)), np.eye(3), np.diag([2.0, 2, 1]), np.diag([1.0, 3, 3]), -np.eye(3)]
    m += [np.diag([1.0, 0, 0]), np.diag([0.0, 0, 2]), np.diag([1.0, -2, 3])]
    m += [np.outer(*rng.standard_normal((2, 3))) for _ in range(3)]
    m += [a @ b for a, b in rng.standard_normal((3, 2, 3, 3))]
    m += list(Rotation.random(3, random_state=1).as_matrix())
    m += [1e-200 * rng.standard_normal((3, 3)), 1e100 * rng.standard_normal((3, 3))]
    return np.stack(m)


def rebuilt(u, s, v):
    return u @ (s[:, :, None] * np.swapaxes(v, 1, 2))


def assert_close(got, want, scale):
    np.testing.assert_allclose(got / scale, want / scale, atol=4e-15, rtol=0)


def assert_rotations(*all_of_them):
    for q in all_of_them:
        np.testing.assert_allclose(q @ np.swapaxes(q, 1, 2), np.eye(3)[None] + 0 * q, atol=4e-15)
        np.testing.assert_allclose(np.linalg.det(q), 1, atol=1e-14)


def test_svd3_of_special_matrices(run):
    m = special_matrices()
    scale = np.maximum(np.abs(m).max((1, 2), keepdims=True), 1e-300)
    u, s, v = run("svd3", m)
    assert_rotations(u, v)
    assert_close(rebuilt(u, s, v), m, scale)
    want = np.linalg.svd(m / scale, compute_uv=False)
    np.testing.assert_allclose(np.abs(s) / scale[:, 0], want, atol=4e-15)
    assert (s[:, :2] >= 0).all()


def test_svd_of_special_matrices(run):
    m = special_matrices()
    scale = np.abs(m).max((1, 2), keepdims=True)
    scale[scale == 0] = 1
    u, s, v = run("svd", m)
    assert_close(rebuilt(u, s, v), m, scale)
    assert_rotations(v)
    np.testing.assert_allclose(u @ np.swapaxes(u, 1, 2), np.eye(3)[None] + 0 * u, atol=4e-15)
    assert np.all(s >= 0) and np.all(np.diff(s) <= 0)


@pytest.mark.parametrize("n", [4, 6])
def test_svd_of_larger_matrices(n):
    """The derivative of what does not depend on signs, against PyTorch."""
    matrix = wp.types.matrix((n, n), wp.float64)

    @wp.kernel
    def k(a: wp.array(dtype=matrix), loss: wp.array(dtype=wp.float64)):
        i = wp.tid()
        u, s, v = wp.svd(a[i])
        r = u * wp.transpose(v)
        for j in range(n):
            loss[0] += s[j] * s[j] * s[0] + r[j, (j + 1) % n] * wp.float64(j + 1)

    x = np.random.default_rng(n).standard_normal((2, n, n))
    a = wp.array(x, dtype=matrix, device="cpu", requires_grad=True)
    loss = wp.zeros(1, dtype=wp.float64, device="cpu", requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(k, 2, inputs=[a, loss], device="cpu")
    tape.backward(loss)
    t = torch.tensor(x, requires_grad=True)
    u, s, vh = torch.linalg.svd(t)
    r = (u @ vh)[:, np.arange(n), (np.arange(n) + 1) % n]
    wanted = (s * s * s[:, :1]).sum() + (r * torch.arange(1.0, n + 1)).sum()
    wanted.backward()
    np.testing.assert_allclose(loss.numpy()[0], wanted.item(), rtol=1e-12)
    np.testing.assert_allclose(a.grad.numpy(), t.grad, atol=1e-10)


def test_svd2_of_special_matrices(run):
    m = np.stack([np.zeros((2, 2)), np.eye(2), np.diag([1.0, -1]), np.ones((2, 2)),
                  np.array([[0.0, 1], [0, 0]])])  # fmt: skip
    u, s, v = run("svd2", m)
    np.testing.assert_allclose(rebuilt(u, s, v), m, atol=2e-15)
    np.testing.assert_allclose(s, np.linalg.svd(m, compute_uv=False), atol=2e-15)
    np.testing.assert_allclose(np.linalg.det(v), 1, atol=2e-15)


def test_qr3_and_eig3_of_special_matrices(run):
    m = special_matrices()
    scale = np.maximum(np.abs(m).max((1, 2), keepdims=True), 1e-300)
    q, r = run("qr3", m)
    assert_rotations(q)
    assert_close(q @ r, m, scale)
    assert not np.tril(r, -1).any()
    both = (m + np.swapaxes(m, 1, 2)) / 2
    q, d = run("eig3", m)
    assert_rotations(q)
    assert_close(rebuilt(q, d, q), both, scale)


def polar(m):
    """The rotation nearest to m, by Newton's iteration: no singular values in sight."""
    for _ in range(12):
        m = 0.5 * (m + torch.linalg.inv(m).transpose(1, 2))
    return m


def test_svd_of_the_nearest_rotation_at_repeated_singular_values(run):
    m = np.stack([np.eye(3), np.diag([2.0, 2, 1]), 3 * np.eye(3)])
    m[1] = Rotation.random(random_state=3).as_matrix() @ m[1]
    w = np.random.default_rng(0).standard_normal(m.shape)
    x = torch.tensor(m, requires_grad=True)
    (polar(x) * torch.tensor(w)).sum().backward()
    u, s, v = run("svd3", m)
    got = run("svd3", m, cotangents=[w @ v, 0 * s, np.swapaxes(w, 1, 2) @ u])[0]
    np.testing.assert_allclose(got, x.grad.numpy(), atol=1e-12)


def test_sum_of_repeated_values(run):
    m = np.stack([np.eye(3), np.diag([2.0, 2, 1])])
    one = np.ones((2, 3))
    u, s, v = run("svd3", m)
    got = run("svd3", m, cotangents=[0 * u, one, 0 * v])[0]
    x = torch.tensor(m, requires_grad=True)
    torch.linalg.matrix_norm(x, "nuc").sum().backward()
    np.testing.assert_allclose(got, x.grad.numpy(), atol=1e-14)
    got = run("eig3", m, cotangents=[0 * u, one])[0]
    np.testing.assert_allclose(got, np.stack([np.eye(3)] * 2), atol=1e-14)
    got = run("eig3", 0 * m, cotangents=[u, one])[0]
    assert np.isfinite(got).all()


def test_rotations_at_special_points(run):
    zero, one = np.zeros((1, 3)), np.array([[0.0, 0, 0, 1]])
    np.testing.assert_array_equal(run("quat_exp", zero)[0], one)
    d = np.array([[1.0, 2, 3, 4]])
    np.testing.assert_allclose(run("quat_exp", zero, cotangents=[d])[0], d[:, :3] / 2)
    np.testing.assert_array_equal(run("quat_log", one)[0], zero)
    got = run("quat_log", one, cotangents=[d[:, :3]])[0]
    np.testing.assert_allclose(got, [[2, 4, 6, 0]])
    t = np.array([0.3])
    np.testing.assert_allclose(run("quat_slerp", one, one, t)[0], one)
    got = run("quat_slerp", one, one, t, cotangents=[d])
    np.testing.assert_allclose(got[0][:, :3], 0.7 * d[:, :3], atol=1e-12)
    np.testing.assert_allclose(got[1][:, :3], 0.3 * d[:, :3], atol=1e-12)
    a = np.array([[1.0, 2, 3], [0, 0, 1], [1, 0, 0]])
    q = run("quat_between_vectors", a, -a)[0]
    turned = Rotation.from_quat(q).apply(a)
    np.testing.assert_allclose(turned, -a, atol=1e-14)
    np.testing.assert_allclose(run("quat_between_vectors", a, 2 * a)[0], [one[0]] * 3, atol=1e-15)
    got = run("quat_between_vectors", a, -a, cotangents=[np.tile(d, (3, 1))])
    assert np.isfinite(got).all()


def test_norms_of_zero(run):
    zero, d = np.zeros((1, 3)), np.ones((1, 3))
    assert not run("length", zero, cotangents=[np.ones(1)], like="vec")[0].any()
    assert not run("normalize", zero, cotangents=[d], like="vec")[0].any()


def test_singular_systems(run):
    m = np.ones((1, 5, 5))
    assert not run("inverse", m, like="P")[0].any()
    assert run("determinant", m, like="P")[0] == 0
    m = np.zeros((1, 5, 5))
    m[0, :4, :4] = np.diag([1.0, 2, 3, 4])
    got = run("determinant", m, cotangents=[np.ones(1)], like="P")[0]
    want = np.zeros((1, 5, 5))
    want[0, 4, 4] = 24
    np.testing.assert_array_equal(got, want)
