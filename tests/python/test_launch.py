# SPDX-License-Identifier: Apache-2.0
# test_launch.py: kernels launched over ranges, with arguments of every kind, right and wrong.
import math
from typing import Any

import numpy as np
import pytest
import warp_torch as wp

from tests.support.threads import in_threads

F = wp.float64


def zeros(shape, dtype=wp.float64):
    return wp.zeros(shape, dtype=dtype, device="cpu")


@wp.kernel
def count1(out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = i + 1


@wp.kernel
def count2(out: wp.array2d(dtype=int)):
    i, j = wp.tid()
    out[i, j] = 10 * i + j


@wp.kernel
def count3(out: wp.array3d(dtype=int)):
    i, j, k = wp.tid()
    out[i, j, k] = 100 * i + 10 * j + k


@wp.kernel
def count4(out: wp.array4d(dtype=int)):
    i, j, k, m = wp.tid()
    out[i, j, k, m] = 1000 * i + 100 * j + 10 * k + m


@pytest.mark.parametrize(
    "kernel, shape", [(count2, (3, 5)), (count3, (2, 3, 4)), (count4, (2, 1, 3, 2))]
)
def test_launch_dimensions(kernel, shape):
    out = zeros(shape, wp.int32)
    wp.launch(kernel, dim=shape, inputs=[out])
    index = np.indices(shape)
    weights = 10 ** np.arange(len(shape))[::-1]
    np.testing.assert_array_equal(out.numpy(), np.tensordot(weights, index, 1))


@pytest.mark.parametrize("n", [0, 1, 7, 1000, 100_003])
def test_one_dimension(n):
    out = zeros(n, wp.int32)
    wp.launch(count1, dim=n, inputs=[], outputs=[out])
    np.testing.assert_array_equal(out.numpy(), np.arange(1, n + 1))


def test_dim_in_other_forms():
    for dim in (3, (3,), [3], np.int64(3), wp.int32(3), (3, 1), (3, 1, 1, 1)):
        out = zeros(3, wp.int32)
        wp.launch(count1, dim, [out])
        assert out.numpy().tolist() == [1, 2, 3]


SCALARS = {
    wp.int8: (-128, 127),
    wp.uint8: (0, 255),
    wp.int16: (-(2**15), 2**15 - 1),
    wp.uint16: (0, 2**16 - 1),
    wp.int32: (-(2**31), 2**31 - 1),
    wp.uint32: (0, 2**32 - 1),
    wp.int64: (-(2**63), 2**63 - 1),
    wp.uint64: (0, 2**64 - 1),
}


@wp.kernel
def store_scalar(value: Any, out: wp.array(dtype=Any)):
    out[wp.tid()] = value


@pytest.mark.parametrize("dtype", SCALARS, ids=lambda t: t.__name__)
def test_integers_and_their_range(dtype):
    out = zeros(1, dtype)
    kernel = store_scalar.specialise([dtype(0), out])
    for value in (*SCALARS[dtype], 1, dtype(1), np.int64(1), True):
        wp._C.launch(kernel, 1, [value, out])
        assert out.numpy()[0] == int(value)
    low, high = SCALARS[dtype]
    for value in (low - 1, high + 1):
        with pytest.raises(wp.ArgumentValueError, match=f"argument 'value': {value} does not fit"):
            wp._C.launch(kernel, 1, [value, out])
    for value in (1.5, "1", None, [1]):
        with pytest.raises(wp.ArgumentTypeError, match="argument 'value': got"):
            wp._C.launch(kernel, 1, [value, out])


@pytest.mark.parametrize("dtype", [wp.float16, wp.float32, wp.float64], ids=lambda t: t.__name__)
def test_floats(dtype):
    out = zeros(1, dtype)
    kernel = store_scalar.specialise([dtype(0), out])
    for value in (0.1, -3, math.inf, dtype(0.1), np.float32(0.1), True):
        wp._C.launch(kernel, 1, [value, out])
        assert out.numpy()[0] == dtype.np_dtype.type(float(value))
    wp._C.launch(kernel, 1, [math.nan, out])
    assert np.isnan(out.numpy()[0])
    for value in ("1", None, [1.0], 1j):
        with pytest.raises(wp.ArgumentTypeError, match="argument 'value': got"):
            wp._C.launch(kernel, 1, [value, out])


@wp.kernel
def store_bool(value: bool, out: wp.array(dtype=bool)):
    out[wp.tid()] = not value


def test_bool():
    out = zeros(1, wp.bool)
    for value in (True, False, 0, 1, np.bool_(True)):
        wp.launch(store_bool, 1, inputs=[value, out])
        assert out.numpy()[0] == (not value)


@wp.kernel
def store_composites(
    v: wp.vec3,
    m: wp.mat22d,
    q: wp.quat,
    t: wp.transform,
    n: wp.vec2i,
    s: wp.spatial_vector,
    out: wp.array(dtype=F),
):
    for i in range(3):
        out[i] = F(v[i])
    out[3] = m[0, 1]
    out[4] = F(q[2])
    out[5] = F(wp.transform_get_translation(t)[1])
    out[6] = F(wp.transform_get_rotation(t)[3])
    out[7] = F(n[1])
    out[8] = F(s[5])


def test_composite_parameters():
    typed = [
        wp.vec3(1, 2, 3),
        wp.mat22d(1, 4, 3, 4),
        wp.quat(0, 0, 5, 1),
        wp.transform((0, 6, 0), (0, 0, 0, 7)),
        wp.vec2i(0, 8),
        wp.spatial_vector(0, 0, 0, 0, 0, 9),
    ]
    plain = [
        (1, 2, 3),
        [[1, 4], [3, 4]],
        np.array([0, 0, 5.0, 1]),
        (0, 6, 0, 0, 0, 0, 7),
        (0, 8),
        (0, 0, 0, 0, 0, 9.0),
    ]
    for values in (typed, plain):
        out = zeros(9)
        wp.launch(store_composites, 1, inputs=values, outputs=[out])
        assert out.numpy().tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    "at, value, text",
    [
        (0, wp.vec3d(1, 2, 3), "argument 'v': got a value of type vec3d, wanted vec3f"),
        (0, (1, 2), "argument 'v': got 2 numbers, vec3f has 3"),
        (0, "abc", "argument 'v': got str"),
        (0, 1.0, "argument 'v': got 1 numbers"),
        (2, wp.vec4(0, 0, 0, 1), "argument 'q': got a value of type vec4f, wanted quatf"),
        (4, (0.5, 1), "argument 'n': "),
        (4, (0, 2**40), "argument 'n': "),
        (5, None, "argument 's': got None"),
    ],
)
def test_wrong_composites(at, value, text):
    values = [(1, 2, 3), [[1, 4], [3, 4]], (0, 0, 5, 1), (0,) * 7, (0, 8), (0,) * 6]
    values[at] = value
    with pytest.raises(wp.Error) as e:
        wp.launch(store_composites, 1, inputs=[*values, zeros(9)])
    assert isinstance(e.value, (wp.ArgumentTypeError, wp.ArgumentValueError))
    assert text in str(e.value)


@wp.kernel
def axpy(x: wp.array(dtype=F), a: F, y: wp.array(dtype=F)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        (lambda: [zeros(3), 2.0], wp.ArgumentValueError, r"got 2 arguments, wanted 3 \(x, a, y\)"),
        (lambda: [zeros(3), 2.0, zeros(3), 1], wp.ArgumentValueError, "got 4 arguments"),
        (
            lambda: [zeros(3, wp.float32), 2.0, zeros(3)],
            wp.ArgumentTypeError,
            "'x': got an array of dtype float32, wanted float64",
        ),
        (
            lambda: [zeros((3, 1)), 2.0, zeros(3)],
            wp.ArgumentValueError,
            "'x': got an array with 2 dimensions, wanted 1",
        ),
        (
            lambda: [np.zeros(3, np.float32), 2.0, zeros(3)],
            wp.ArgumentTypeError,
            "'x': got a NumPy array of float32, wanted float64",
        ),
        (lambda: [[1.0], 2.0, zeros(3)], wp.ArgumentTypeError, "'x': got list, wanted an array"),
        (lambda: [2.0, zeros(3), zeros(3)], wp.ArgumentTypeError, "'x': got float"),
        (lambda: [zeros(3), zeros(3), zeros(3)], wp.ArgumentTypeError, "'a': got array, wanted"),
        (lambda: [zeros(3), "2", zeros(3)], wp.ArgumentTypeError, "'a': got str"),
    ],
)
def test_wrong_arguments(arguments, error, text):
    with pytest.raises(error, match=text) as e:
        wp.launch(axpy, 3, inputs=arguments())
    assert "launch of axpy" in str(e.value)


@pytest.mark.parametrize(
    "dim, error",
    [
        (-1, wp.ArgumentValueError),
        ((2, -3), wp.ArgumentValueError),
        ((), wp.ArgumentValueError),
        ((1, 1, 1, 1, 1), wp.ArgumentValueError),
        (2.5, wp.ArgumentTypeError),
        ("3", wp.ArgumentTypeError),
        (None, wp.ArgumentTypeError),
    ],
)
def test_wrong_dimensions(dim, error):
    with pytest.raises(error, match=r"launch\(dim=...\)"):
        wp.launch(axpy, dim, inputs=[zeros(3), 1.0, zeros(3)])


def test_a_failed_launch_changes_nothing():
    x, y = wp.ones(3, dtype=F, device="cpu"), zeros(3)
    with wp.Tape() as tape, pytest.raises(wp.ArgumentTypeError):
        wp.launch(axpy, 3, inputs=[x, None, y])
    assert tape.stats()["entries"] == 0
    assert y.numpy().tolist() == [0, 0, 0]
    wp.launch(axpy, 3, inputs=[x, 2.0, y])
    assert y.numpy().tolist() == [2, 2, 2]


def test_a_freed_array_is_named():
    x = zeros(3)
    x.free()
    with pytest.raises(wp.ArgumentValueError, match="argument 'x': the array has been freed"):
        wp.launch(axpy, 3, inputs=[x, 1.0, zeros(3)])


def test_what_is_launched():
    with pytest.raises(wp.ArgumentTypeError, match="wanted what @kernel made"):
        wp.launch(math.sin, 1)
    with pytest.raises(wp.ArgumentTypeError, match="is not called; use launch"):
        axpy(zeros(3), 1.0, zeros(3))


@wp.kernel
def optional(x: wp.array(dtype=F), bias: wp.array(dtype=F), y: wp.array(dtype=F)):
    i = wp.tid()
    if bias:
        y[i] = x[i] + bias[i]
    else:
        y[i] = x[i]


def test_none_for_an_array():
    x, y = wp.ones(2, dtype=F, device="cpu"), zeros(2)
    wp.launch(optional, 2, inputs=[x, None, y])
    assert y.numpy().tolist() == [1, 1]
    wp.launch(optional, 2, inputs=[x, x, y])
    assert y.numpy().tolist() == [2, 2]


def test_recorded_commands():
    out = zeros(4, wp.int32)
    cmd = wp.launch(count1, dim=2, inputs=[out], record_cmd=True)
    assert out.numpy().tolist() == [0, 0, 0, 0]
    cmd.launch()
    assert out.numpy().tolist() == [1, 2, 0, 0]
    cmd.set_dim(4)
    cmd.launch()
    assert out.numpy().tolist() == [1, 2, 3, 4]
    other = zeros(4, wp.int32)
    cmd.set_param("out", other)
    cmd.launch()
    assert other.numpy().tolist() == [1, 2, 3, 4]
    third = zeros(4, wp.int32)
    cmd.set_param_at_index(0, third)
    cmd.launch()
    cmd.set_params([zeros(4, wp.int32)])
    assert third.numpy().tolist() == [1, 2, 3, 4]
    with pytest.raises(wp.ArgumentValueError, match="no parameter 'oout'"):
        cmd.set_param_by_name("oout", other)


def test_recorded_commands_on_a_tape():
    x = wp.array([1.0, 2.0], dtype=F, requires_grad=True, device="cpu")
    y = wp.zeros(2, dtype=F, requires_grad=True, device="cpu")
    cmd = wp.launch(axpy, 2, inputs=[x, 3.0, y], record_cmd=True)
    with wp.Tape() as tape:
        cmd.launch()
        cmd.set_param("a", 4.0)
        cmd.launch()
    tape.backward()
    assert x.grad.numpy().tolist() == [7, 7]


def test_adjoint_launches_by_hand():
    x = wp.array([1.0, 2.0], dtype=F, device="cpu")
    gx, gy = zeros(2), wp.array([10.0, 20.0], dtype=F, device="cpu")
    more = {"adj_inputs": [gx, None], "adj_outputs": [gy], "adjoint": True}
    wp.launch(axpy, 2, inputs=[x, 3.0], outputs=[zeros(2)], **more)
    assert gx.numpy().tolist() == [30, 60]
    assert gy.numpy().tolist() == [10, 20]  # it may be another's, as in a PyTorch function
    more["adj_inputs"] = [gx, 0.0]
    wp.launch(axpy, 2, inputs=[x, 3.0], outputs=[zeros(2)], **more)
    assert gx.numpy().tolist() == [60, 120]
    with pytest.raises(wp.ArgumentValueError, match="gradient of 'x'"):
        more["adj_inputs"] = [zeros(3), None]
        wp.launch(axpy, 2, inputs=[x, 3.0], outputs=[zeros(2)], **more)
    with pytest.raises(wp.ArgumentValueError, match="got 4 gradients for 3 parameters"):
        more["adj_inputs"] = [gx, None, None]
        wp.launch(axpy, 2, inputs=[x, 3.0], outputs=[zeros(2)], **more)


def test_the_gradient_of_a_scalar_by_hand():
    x = wp.array([1.0, 2.0], dtype=F, device="cpu")
    ga, gy = zeros(1), wp.array([10.0, 20.0], dtype=F, device="cpu")
    wp.launch(axpy, 2, [x, 3.0], [zeros(2)], [None, ga], [gy], adjoint=True)
    assert ga.numpy()[0] == 50


def test_sources():
    assert "kernel @axpy" in axpy.source("ir") and "mul(" in axpy.source("ir")
    assert 'extern "C"' in axpy.source() and "#line" in axpy.source("cpp")
    assert "__global__" in axpy.source("cuda")
    adjoint = axpy.source("ir", adjoint=True)
    assert "%adj_x" in adjoint and "%adj_y" in adjoint
    assert "%adj_x" not in axpy.source("ir", adjoint=True, wrt=["y"])
    with pytest.raises(wp.ArgumentValueError, match="no parameter 'z'"):
        axpy.source("ir", adjoint=True, wrt=["z"])
    with pytest.raises(wp.ArgumentValueError, match="wanted ir, cpp, cuda or ptx"):
        axpy.source("fortran")


def test_ptx_needs_no_device():
    try:
        text = axpy.source("ptx", arch="sm_80")
    except wp.DeviceError as e:
        pytest.skip(f"no NVRTC: {e}")
    assert ".target sm_80" in text and ".visible .entry axpy_" in text


@wp.kernel
def scale_any(x: wp.array(dtype=Any), s: Any, y: wp.array(dtype=Any)):
    i = wp.tid()
    y[i] = s * x[i]


def test_generic_kernels():
    for dtype, s in ((wp.float32, 2.0), (wp.float64, F(2.0)), (wp.int32, 2), (wp.vec3, 2.0)):
        x = wp.ones(2, dtype=dtype, device="cpu")
        y = wp.zeros(2, dtype=dtype, device="cpu")
        wp.launch(scale_any, 2, inputs=[x, s, y])
        np.testing.assert_array_equal(y.numpy(), 2 * x.numpy())
    assert len(scale_any._instances) == 4
    with pytest.raises(wp.KernelError, match="test_launch.py"):
        x = zeros(2)
        wp.launch(scale_any, 2, inputs=[x, wp.vec2(1, 2), x])
    with pytest.raises(wp.ArgumentTypeError, match="'s': cannot tell the kernel type of a str"):
        wp.launch(scale_any, 2, inputs=[x, "2", x])
    with pytest.raises(wp.ArgumentTypeError, match="is generic"):
        scale_any.source()


@wp.func
def square(x: Any):
    return x * x


def make_power(n, offset):
    @wp.kernel(module="unique")
    def power(x: wp.array(dtype=F), y: wp.array(dtype=F)):
        i = wp.tid()
        p = F(1.0)
        for _ in range(wp.static(n)):
            p = p * x[i]
        if wp.static(n > 2):
            p = square(p)
        y[i] = p + F(offset)

    return power


def test_closures_static_and_unique_modules():
    two, three = make_power(2, 1.0), make_power(3, 0.5)
    x, y = wp.array([3.0], dtype=F, device="cpu"), zeros(1)
    wp.launch(two, 1, inputs=[x, y])
    assert y.numpy()[0] == 10.0
    wp.launch(three, 1, inputs=[x, y])
    assert y.numpy()[0] == 729.5
    wp.launch(two, 1, inputs=[x, y])
    assert y.numpy()[0] == 10.0


LIMIT = 5


def test_a_captured_constant_stays_as_declared():
    global LIMIT

    @wp.kernel
    def limit(y: wp.array(dtype=int)):
        y[0] = LIMIT

    LIMIT = 6

    @wp.kernel
    def later(y: wp.array(dtype=int)):
        y[0] = LIMIT

    LIMIT = 5
    y = zeros(1, wp.int32)
    wp.launch(limit, 1, inputs=[y])
    assert y.numpy()[0] == 5
    wp.launch(later, 1, inputs=[y])
    assert y.numpy()[0] == 6


def test_functions_run_on_the_host():
    assert square(3.0) == 9.0
    assert square(wp.float32(3.0)) == 9.0
    assert repr(square) == "<func square>"


def test_host_scalars_and_vectors():
    assert wp.int8(200) == -56 and wp.uint8(-1) == 255
    assert float(wp.float32(0.1)) == np.float32(0.1)
    assert wp.int32(7) / wp.int32(-2) == -3
    assert (wp.vec3(1, 2, 3) * 2.0)[1] == 4.0
    assert wp.vec3(1, 2, 3) + wp.vec3(1, 1, 1) == wp.vec3(2, 3, 4)
    assert wp.mat22(1, 2, 3, 4) @ wp.vec2(1, 1) == wp.vec2(3, 7)
    with pytest.raises(TypeError):
        wp.float32(1) + wp.float64(1)


def test_kernels_from_text():
    text = "def from_text(y: wp.array(dtype=float)):\n    y[wp.tid()] = 4.0\n"
    scope = {"wp": wp}
    exec("def from_text(y: wp.array(dtype=float)): pass", scope)
    kernel = wp.kernel(scope["from_text"], source=text)
    y = wp.zeros(2, device="cpu")
    wp.launch(kernel, 2, inputs=[y])
    assert y.numpy().tolist() == [4, 4]


def test_many_threads_add_to_one_element():
    total = zeros(1, wp.int64)
    wp.launch(add_up, (300, 70), inputs=[total])
    assert total.numpy()[0] == sum(i * j for i in range(300) for j in range(70))


@wp.kernel
def add_up(total: wp.array(dtype=wp.int64)):
    i, j = wp.tid()
    wp.atomic_add(total, 0, wp.int64(i * j))


def test_launches_from_many_python_threads():
    def work(seed):
        x = wp.full(500, float(seed), dtype=F, device="cpu")
        y = zeros(500)
        for _ in range(40):
            wp.launch(axpy, 500, inputs=[x, 1.0, y])
        assert set(y.numpy()) == {40.0 * seed}

    in_threads(work, range(6))


def test_a_recorded_command_packs_its_arguments_once():
    x = wp.array([1.0, 2.0], dtype=F, device="cpu", requires_grad=True)
    y = wp.zeros(2, dtype=F, device="cpu", requires_grad=True)
    cmd = wp.launch(axpy, 2, inputs=[x, 3.0, y], record_cmd=True)
    before = y.version
    cmd.launch()
    cmd.launch()
    assert y.numpy().tolist() == [6.0, 12.0] and y.version == before + 2
    cmd.set_param_at_index(1, -1.0)
    cmd.launch()
    assert y.numpy().tolist() == [5.0, 10.0]
    cmd.set_dim(1)
    with wp.Tape() as tape:
        cmd.launch()
    assert y.numpy().tolist() == [4.0, 10.0] and tape.stats()["entries"] == 1
    tape.backward()
    assert x.grad.numpy().tolist() == [-1.0, 0.0]
    y.free()
    with pytest.raises(wp.ArgumentValueError, match="has been freed"):
        cmd.launch()
    with pytest.raises(wp.ArgumentTypeError, match="argument 'x'"):
        wp.launch(axpy, 2, inputs=[1.0, 3.0, x], record_cmd=True).launch()
