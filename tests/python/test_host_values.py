# SPDX-License-Identifier: Apache-2.0
# test_host_values.py: builtins called from Python on single values, beside NumPy and SciPy.
import math

import numpy as np
import pytest
import warp_torch as wp
from scipy.spatial.transform import Rotation


def test_numbers_keep_their_type():
    assert wp.sin(1.0) == float(np.float32(wp.sin(1.0)))
    assert type(wp.sin(1.0)) is float and math.isclose(wp.sin(1.0), math.sin(1.0), rel_tol=1e-6)
    x = wp.sin(wp.sqrt(wp.float64(2.0)))
    assert type(x) is wp.float64 and math.isclose(x, math.sin(math.sqrt(2.0)), rel_tol=1e-15)
    assert wp.min(1, 2) == 1 and type(wp.min(1, 2)) is int and wp.max(1, 2.5) == 2.5
    assert wp.clamp(wp.float64(0.1), 0.2, 1.0) == 0.2  # the numbers take the type beside them
    assert wp.add(1, 2) == 3 and wp.sign(-2.0) == -1.0
    assert wp.sin(1) == wp.sin(1.0) == wp.sin(np.float32(1.0))
    assert type(wp.abs(np.float64(-2.0))) is wp.float64
    assert wp.float16(0.1) + wp.float16(0.2) == float(np.float16(0.1) + np.float16(0.2))


def test_vectors_and_matrices():
    v, w = wp.vec3(1.0, 2.0, 3.0), wp.vec3(-1.0, 0.5, 2.0)
    a, b = v.numpy(), w.numpy()
    assert wp.dot(v, w) == a @ b and wp.length_sq(v) == 14.0
    assert wp.cross(v, w) == np.cross(a, b)
    np.testing.assert_allclose(wp.normalize(v).numpy(), a / np.linalg.norm(a), rtol=1e-6)
    assert wp.cw_mul(v, w) == a * b and wp.max(v) == 3.0 and wp.argmin(w) == 0
    assert wp.vec3d(1.0, 2.0, 3.0)[0] == 1.0 and type(wp.vec3d(1.0)[0]) is wp.float64
    assert wp.length(wp.vec3d(1.0, 2.0, 3.0)) == math.sqrt(14.0)
    m = wp.mat22d(1.0, 2.0, 3.0, 4.0)
    np.testing.assert_allclose(wp.inverse(m).numpy(), np.linalg.inv(m.numpy()), rtol=1e-14)
    assert wp.determinant(m) == -2.0 and wp.trace(m) == 5.0 and wp.transpose(m)[0, 1] == 3.0
    assert wp.outer(wp.vec2(1.0, 2.0), wp.vec2(3.0, 4.0)).numpy().tolist() == [[3, 4], [6, 8]]
    assert wp.identity(n=3, dtype=float) == np.eye(3)


def test_rotations_and_transforms():
    q = wp.quat_from_axis_angle(wp.vec3d(0.0, 0.6, 0.8), wp.float64(0.7))
    r = Rotation.from_rotvec(0.7 * np.array([0.0, 0.6, 0.8]))
    np.testing.assert_allclose(q.numpy(), r.as_quat(), rtol=1e-14)
    v = wp.vec3d(1.0, 2.0, 3.0)
    np.testing.assert_allclose(wp.quat_rotate(q, v).numpy(), r.apply(v.numpy()), rtol=1e-14)
    axis, angle = wp.quat_to_axis_angle(q)
    np.testing.assert_allclose(axis.numpy(), [0.0, 0.6, 0.8], rtol=1e-14)
    assert math.isclose(angle, 0.7, rel_tol=1e-14)
    assert wp.quat_identity() == wp.quat(0.0, 0.0, 0.0, 1.0)
    t = wp.transformd(v, q)
    np.testing.assert_allclose(
        wp.transform_point(t, v).numpy(), r.apply(v.numpy()) + v.numpy(), rtol=1e-14
    )
    back = wp.transform_inverse(t) * t
    np.testing.assert_allclose(back.numpy(), [0, 0, 0, 0, 0, 0, 1], atol=1e-15)
    assert wp.transform_get_translation(t) == v


def test_what_needs_a_thread_and_wrong_arguments():
    for name in ("tid", "atomic_add", "printf"):
        with pytest.raises(wp.ArgumentTypeError, match="in kernels only"):
            getattr(wp, name)()
    with pytest.raises(wp.ArgumentTypeError, match="cross"):
        wp.cross(wp.vec3(1.0), 2.0)
    with pytest.raises(wp.ArgumentTypeError, match="got a list"):
        wp.length([1.0, 2.0])


def test_random_numbers_are_those_of_kernels():
    @wp.kernel
    def k(o: wp.array(dtype=float), seeds: wp.array(dtype=wp.uint32)):
        state = wp.rand_init(42, 7)
        seeds[0] = state
        o[0] = wp.randf(state)

    o, seeds = wp.zeros(1, dtype=float, device="cpu"), wp.zeros(1, dtype=wp.uint32, device="cpu")
    wp.launch(k, dim=1, inputs=[o, seeds], device="cpu")
    state = wp.rand_init(42, 7)
    assert state == seeds.numpy()[0] and wp.randf(state) == o.numpy()[0]


def test_gradients_of_functions():
    @wp.func
    def f(x: wp.float64, v: wp.vec2d, n: int):
        return x * x * wp.dot(v, v) * wp.float64(n)

    gx, gv = wp.grad(f)(3.0, wp.vec2d(1.0, 2.0), 2)
    assert gx == 2 * 3.0 * 5.0 * 2 and gv == np.array([2.0, 4.0]) * 9.0 * 2
    with pytest.raises(wp.ArgumentTypeError, match="wanted a function declared"):
        wp.grad(math.sin)


def test_questions_about_types():
    t = wp.types
    assert t.type_is_vector(wp.vec3) and not t.type_is_vector(wp.quat) and t.is_matrix(wp.mat22())
    assert t.type_is_float(float) and t.type_is_int(wp.uint8) and t.is_scalar(2.0)
    assert t.types_equal(float, wp.float32) and not t.types_equal(wp.vec3, wp.vec3d)
    assert t.type_size_in_bytes(wp.mat33d) == 72 and t.type_size(wp.mat33) == 9
    assert t.is_array(wp.zeros(2, dtype=float, device="cpu")) and t.type_repr(wp.vec3) == "vec3f"
    assert wp.dtype_from_numpy(np.float16) is wp.float16 and wp.dtype_to_numpy(int) is np.int32
