# SPDX-License-Identifier: Apache-2.0
# test_ported.py: forms that kernels written for Warp have: negative indices that are computed,
# branches on constants, comparisons of bools, components of a transform's parts, whole vectors.
import numpy as np
import pytest
import warp_torch as wp


def array(values, dtype=wp.float32, **options):
    return wp.array(np.asarray(values), dtype=dtype, device="cpu", **options)


def run(kernel, *arguments, dim=1):
    wp.launch(kernel, dim=dim, inputs=arguments, device="cpu")


@wp.kernel
def pick(
    a: wp.array2d(dtype=float),
    ia: wp.indexedarray(dtype=float),
    at: wp.array(dtype=int),
    far: wp.array(dtype=wp.int64),
    o: wp.array2d(dtype=float),
):
    t = wp.tid()
    i = at[t]
    o[t, 0] = a[i, far[t]]
    row = a[i]
    o[t, 1] = row[i]
    v = wp.vec4(1.0, 2.0, 3.0, 4.0)
    o[t, 2] = v[i]
    v[i] += 10.0
    o[t, 3] = v[3] * 100.0 + v[2]
    m = wp.mat33(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
    o[t, 4] = m[i, i] + m[i][0]
    mine = wp.zeros(shape=4, dtype=float)
    mine[i] = 7.0
    o[t, 5] = mine[3] + 2.0 * mine[2]
    o[t, 6] = ia[i]
    o[t, 7] = float(a.shape[i])
    wp.atomic_add(o, i, far[t], 1.0)


def test_negative_indices_count_from_the_end():
    a = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    at = [-1, -2, 1]
    base = array([5.0, 6.0, 7.0])
    ia = wp.indexedarray(base, [array([2, 0, 1], wp.int32)])
    o = wp.zeros((3, 12), dtype=wp.float32, device="cpu")
    run(pick, array(a), ia, array(at, wp.int32), array([-1, -2, -3], wp.int64), o, dim=3)
    got = o.numpy()
    far = [-1, -2, -3]
    v = np.array([1.0, 2.0, 3.0, 4.0])
    m = np.arange(1.0, 10.0).reshape(3, 3)
    for t, i in enumerate(at):
        changed = v.copy()
        changed[i] += 10.0
        mine = np.zeros(4)
        mine[i] = 7.0
        want = [
            a[i, far[t]],
            a[i][i],
            v[i],
            changed[3] * 100.0 + changed[2],
            m[i, i] + m[i][0],
            mine[3] + 2.0 * mine[2],
            np.array([7.0, 5.0, 6.0])[i],
            a.shape[i],
        ]
        np.testing.assert_allclose(got[t, :8], want, rtol=1e-6)
    added = np.zeros((3, 12))
    for t, i in enumerate(at):
        added[i, far[t]] += 1.0
    np.testing.assert_array_equal(got[:, 8:], added[:, 8:])


@wp.kernel
def differences(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = x[i] * x[i - 1]


def test_gradient_through_an_index_before_the_start():
    x = array([1.0, 2.0, 3.0, 5.0], requires_grad=True)
    o = wp.zeros(4, dtype=wp.float32, requires_grad=True, device="cpu")
    tape = wp.Tape()
    with tape:
        run(differences, x, o, dim=4)
    o.grad.fill_(1.0)
    tape.backward()
    values = np.array([1.0, 2.0, 3.0, 5.0])
    np.testing.assert_allclose(o.numpy(), values * np.roll(values, 1))
    np.testing.assert_allclose(x.grad.numpy(), np.roll(values, 1) + np.roll(values, -1))


@wp.kernel
def loops(x: wp.array(dtype=float), n: int, o: wp.array(dtype=float)):
    i = wp.tid()
    s = 0.0
    k = 0
    while k < 4:
        s += x[k] * x[i // 2]
        k += 1
    for j in range(1, 4, 2):
        s += x[j] + x[wp.min(i + j, 3)] + x[(i * 3 + j) % 4]
    for j in range(n):
        s += x[j >> 1]
    o[i] = s


@wp.kernel
def guarded(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    if i > 0 and x[i] > 1.0:
        o[i] = x[i - 1]
    if i == 0 or i < 3:
        o[i] += 10.0
    else:
        o[i] += x[i - 3]
    if 2 <= i:
        o[i] += 100.0 * x[i - 2]
    if not i < 1:
        o[i] += 1000.0 * x[i - 1]


@wp.kernel
def badly_guarded(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    if i > 0 or x[i] > 0.0:
        o[i] = x[i - 1]
    if i >= 1:
        o[i] += 10.0 * x[i - 2]
    if i < 3:
        o[i] += 100.0 * x[i - 3]
    if i != 3 and i != 2:
        o[i] += 1000.0 * x[i - 2]


@wp.kernel
def of_another_iteration(
    x: wp.array(dtype=float), c: wp.array(dtype=int), o: wp.array(dtype=float)
):
    d = 0
    for j in range(4):
        k = c[j]
        if k > 0:
            o[j] = x[d]
        d = k - 1


def test_a_branch_says_nothing_of_other_iterations():
    x, o = array([1.0, 2.0, 3.0, 4.0]), wp.zeros(4, dtype=wp.float32, device="cpu")
    run(of_another_iteration, x, array([0, 2, 0, 3], wp.int32), o)
    assert list(o.numpy()) == [0.0, 4.0, 0.0, 4.0]


def test_branches_say_which_indices_are_not_negative():
    x, o = array([1.0, 2.0, 3.0, 4.0]), wp.zeros(4, dtype=wp.float32, device="cpu")
    run(guarded, x, o, dim=4)
    assert list(o.numpy()) == [10.0, 1011.0, 2112.0, 3204.0]
    assert " < 0" not in guarded.source("cpp")
    o.zero_()
    run(badly_guarded, x, o, dim=4)
    v = [1.0, 2.0, 3.0, 4.0]
    for i, got in enumerate(o.numpy()):
        want = v[i - 1] + (10.0 * v[i - 2] if i >= 1 else 0.0)
        want += (100.0 * v[i - 3] if i < 3 else 0.0) + (1000.0 * v[i - 2] if i < 2 else 0.0)
        assert got == want


def test_indices_that_cannot_be_negative_are_used_as_they_are():
    x, o = array([1.0, 2.0, 3.0, 4.0]), wp.zeros(4, dtype=wp.float32, device="cpu")
    run(loops, x, 3, o, dim=4)
    v = [1.0, 2.0, 3.0, 4.0]
    for i, got in enumerate(o.numpy()):
        want = sum(v[k] * v[i // 2] for k in range(4)) + v[0] + v[0] + v[1]
        want += sum(v[j] + v[min(i + j, 3)] + v[(i * 3 + j) % 4] for j in (1, 3))
        assert got == want
    assert " < 0" not in loops.source("cpp")


@pytest.mark.parametrize(("flag", "first"), [(True, 1.0), (False, 2.0)])
def test_branches_that_constants_rule_out_need_not_make_sense(flag, first):
    n = 2 if flag else 3

    @wp.kernel
    def kernel(x: wp.array(dtype=float)):
        if flag:
            x[0] = 1.0
        elif n > 2 and not flag:
            x[0] = 2.0
        else:
            x[0] = there_is_no_such_name  # noqa: F821
        if wp.static(n >= 2) or flag:
            x[1] = 3.0
        else:
            x[1] = wp.vec3(1.0)
        x[2] = 4.0 if 1 < n else x[0, 1]

    x = wp.zeros(3, dtype=wp.float32, device="cpu")
    run(kernel, x)
    assert list(x.numpy()) == [first, 3.0, 4.0]


@wp.kernel
def parts(o: wp.array(dtype=float), n: wp.array(dtype=int)):
    t = wp.transform_identity()
    t.p.y = 5.0
    t.p.z += 2.0
    t.q.w *= 3.0
    o[0] = t[1] + 10.0 * t[2] + 100.0 * t[6]
    v = wp.vector(1, 2, 3)
    n[0] = v[0] // v[1] + len(v)
    m = wp.matrix(1, 2, 3, 4, shape=(2, 2))
    n[1] = m[1, 0]
    w = wp.vector(1, 2.5)
    o[1] = w[0] / w[1]
    n[2] = int((n[0] > 5) < (n[0] > 1)) + 2 * int((n[0] > 5) >= (n[0] > 1))


def test_parts_of_transforms_vectors_of_integers_and_order_of_bools():
    o, n = wp.zeros(2, dtype=wp.float32, device="cpu"), wp.zeros(3, dtype=wp.int32, device="cpu")
    run(parts, o, n)
    np.testing.assert_allclose(o.numpy(), [325.0, 0.4], rtol=1e-6)
    assert list(n.numpy()) == [3, 3, 1]
