# SPDX-License-Identifier: Apache-2.0
# test_calls.py: forms of calls: keywords, defaults, constructors, arguments that are written, arrays
# as conditions, bits of numbers; in kernels and on the host.
import numpy as np
import pytest
import warp_torch as wp


@wp.kernel
def forms(v: wp.vec3, q: wp.quat, some: wp.array(dtype=float), out: wp.array(dtype=float)):
    out[0] = wp.norm_huber(v) - wp.norm_huber(v, delta=1.0)
    out[1] = wp.min(a=1.0, b=v[0]) + wp.max(b=v[0], a=7.0)
    out[2] = wp.velocity_at_point(r=v, qd=wp.spatial_vector(v=v, w=v))[1]
    t = wp.transform(p=v)
    wp.transform_set_rotation(t, q)
    out[3] = t[6]
    wp.transform_set_translation(p=2.0 * v, xform=t)
    out[4] = t[1]
    out[5] = float(len(t)) + float(wp.cast(1.0, wp.int32) - wp.cast(dtype=wp.int32, a=0.5))
    out[6] = wp.where(some, 1.0, 2.0) + 10.0 * float(wp.unot(some))
    out[7] = wp.quaternion(real=v[1], ijk=v)[3] + wp.quaternion(x=1.0, y=2.0, z=3.0, w=4.0)[2]
    out[8] = float(wp.identity(n=3, dtype=wp.int32)[1, 1]) + float(wp.skew(wp.vec3i(1, 2, 3))[0, 1])
    out[9] = wp.curlnoise(wp.uint32(3), v, gain=0.3)[0]
    out[10] = wp.curlnoise(wp.uint32(3), v, wp.uint32(1), 2.0, 0.3)[0]
    out[11] = float(wp.mul(b=v, a=2.0)[2] + wp.div(v, b=2.0)[2])
    out[12] = float(wp.invert(a=5) + wp.lshift(wp.int8(1), wp.int8(9)) + wp.int8(3))
    out[13] = wp.transformation(3.0)[5] + wp.spatial_vector(v, v, dtype=wp.float32)[4]


def expected(v, q, curl, given):
    return [
        0, v[0] + 7, v[1], q[3], 2 * v[1], 7 + (0x3F800000 - 0x3F000000), 1 if given else 12,
        v[1] + 3, 1 - 3, curl, curl, 2.5 * v[2], -6 + 3, 3 + v[1],
    ]  # fmt: skip


@pytest.mark.parametrize("given", [True, False])
def test_in_a_kernel(given):
    v, q = wp.vec3(0.25, -0.5, 0.75), wp.quat(0.0, 0.6, 0.0, 0.8)
    out = wp.zeros(14, dtype=float, device="cpu")
    some = wp.zeros(1, dtype=float, device="cpu") if given else None
    wp.launch(forms, 1, inputs=[v, q, some, out], device="cpu")
    curl = wp.curlnoise(wp.uint32(3), v, wp.uint32(1), 2.0, 0.3)[0]
    np.testing.assert_allclose(out.numpy(), expected(v, q, curl, given), rtol=1e-6)


def test_on_the_host():
    t = wp.transform(wp.vec3(1.0, 2.0, 3.0), wp.quat_identity())
    assert wp.transform_set_translation(t, wp.vec3(4.0, 5.0, 6.0)) is None
    assert t.p == wp.vec3(4.0, 5.0, 6.0) and t.q == wp.quat_identity()
    assert wp.transform(wp.vec3(1.0, 2.0, 3.0)) == wp.transform(p=wp.vec3(1.0, 2.0, 3.0))
    a = wp.mat22(2.0, 0.0, 0.0, 1.0)
    u, s, v = wp.mat22(), wp.vec2(), wp.mat22()
    wp.svd2(a, u, s, v)
    assert s == wp.vec2(2.0, 1.0)
    assert wp.cast(1.0, wp.uint32) == 0x3F800000
    assert wp.norm_huber(wp.vec3(3.0, 0.0, 4.0)) == 4.5
    assert wp.randi(wp.uint32(1), 5, 5) == 5
    z = wp.complex_mul(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0))
    assert z == wp.vec2(-5.0, 10.0)
    m = wp.rotation_exp(wp.vec3d(0.0, 0.0, np.pi / 2))
    np.testing.assert_allclose(m.numpy(), [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    with pytest.raises(wp.ArgumentTypeError, match="cannot be written on the host"):
        wp.quat_to_axis_angle(wp.quat_identity(), wp.vec3(), 0.0)


def test_bits_of_another_size_are_refused():
    with pytest.raises(wp.KernelError, match="a type of the size of float32, got float64"):

        @wp.kernel
        def k(x: wp.array(dtype=float)):
            x[0] = float(wp.cast(x[0], wp.float64))


def test_transform_points():
    rng = np.random.default_rng(0)
    points = wp.array(rng.normal(size=(4, 3)), dtype=wp.vec3d, requires_grad=True, device="cpu")
    q = wp.quatd(0.0, 0.6, 0.0, 0.8)
    one = wp.transformd(wp.vec3d(1.0, 2.0, 3.0), q)
    each = wp.array([one] * 4, dtype=wp.transformd, requires_grad=True, device="cpu")
    want = [wp.transform_point(one, wp.vec3d(*p)).numpy() for p in points.numpy()]
    np.testing.assert_allclose(wp.transform_points(one, points).numpy(), want, rtol=1e-14)
    tape = wp.Tape()
    with tape:
        moved = wp.transform_points(each, points)
    np.testing.assert_allclose(moved.numpy(), want, rtol=1e-14)
    tape.backward(grads={moved: wp.ones_like(moved, requires_grad=False)})
    turned = wp.quat_rotate_inv(q, wp.vec3d(1.0, 1.0, 1.0))
    np.testing.assert_allclose(points.grad.numpy(), [turned.numpy()] * 4, rtol=1e-14)
    np.testing.assert_array_equal(each.grad.numpy()[:, :3], 1.0)
    with pytest.raises(wp.ArgumentTypeError, match="as points, wanted an array"):
        wp.transform_points(one, wp.vec3d())


@wp.kernel
def with_arrays_of_its_own(
    m: wp.array(dtype=wp.mat44), q: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3)
):
    i = wp.tid()
    p, r, s = wp.transform_decompose(m[i])
    q[i] = r
    a = wp.vec3(0.0)
    for k in range(4):
        a[(i + k) % 3] += p[k % 3] + s[(i + k) % 3]
    v[i] = a


def test_threads_do_not_share_arrays_of_their_own():
    n = 64
    rng = np.random.default_rng(2)
    turn = [wp.normalize(wp.quat(*rng.normal(size=4))) for _ in range(n)]
    scale = rng.uniform(0.5, 2, (n, 3)).astype(np.float32)
    place = rng.normal(size=(n, 3)).astype(np.float32)
    ms = [wp.transform_compose(wp.vec3(*p), r, wp.vec3(*s))
          for p, r, s in zip(place, turn, scale, strict=True)]  # fmt: skip
    m = wp.array(np.stack([x.numpy() for x in ms]), dtype=wp.mat44, device="cpu")
    q = wp.zeros(n, dtype=wp.quat, device="cpu")
    v = wp.zeros(n, dtype=wp.vec3, device="cpu")
    wp.launch(with_arrays_of_its_own, n, inputs=[m, q, v], device="cpu")
    got, want = q.numpy(), np.stack([r.numpy() for r in turn])
    np.testing.assert_allclose(got * np.sign(got[:, 3:] * want[:, 3:]), want, atol=1e-5)
    sums = np.zeros((n, 3))
    for i in range(n):
        for k in range(4):
            sums[i, (i + k) % 3] += place[i, k % 3] + scale[i, (i + k) % 3]
    np.testing.assert_allclose(v.numpy(), sums, atol=1e-4)
