# SPDX-License-Identifier: Apache-2.0
# test_arrays.py: making, viewing, copying and reading arrays, beside NumPy.
import numpy as np
import pytest
import torch
import warp_torch as wp

SCALARS = {
    wp.bool: np.bool_,
    wp.int8: np.int8,
    wp.uint8: np.uint8,
    wp.int16: np.int16,
    wp.uint16: np.uint16,
    wp.int32: np.int32,
    wp.uint32: np.uint32,
    wp.int64: np.int64,
    wp.uint64: np.uint64,
    wp.float16: np.float16,
    wp.float32: np.float32,
    wp.float64: np.float64,
}
COMPOSITES = [
    wp.vec2,
    wp.vec3d,
    wp.vec4h,
    wp.vec3i,
    wp.vec2ub,
    wp.mat22,
    wp.mat33d,
    wp.types.matrix((2, 3), wp.float64),
    wp.types.vector(7, wp.int16),
    wp.quat,
    wp.quatd,
    wp.transform,
    wp.spatial_vectord,
    wp.spatial_matrix,
]


def cpu(*args, **kwargs):
    return wp.array(*args, device="cpu", **kwargs)


@pytest.mark.parametrize("dtype", SCALARS, ids=lambda t: t.__name__)
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 1, 3), (2, 3, 1, 2)], ids=str)
def test_scalars_from_numpy_and_lists(dtype, shape):
    data = (np.arange(np.prod(shape)).reshape(shape) % 3).astype(SCALARS[dtype])
    for a in (cpu(data, dtype=dtype), cpu(data), cpu(data.tolist(), dtype=dtype)):
        assert a.dtype is dtype and a.shape == shape and a.ndim == len(shape)
        assert a.size == data.size and len(a) == shape[0]
        assert a.strides == data.strides and a.is_contiguous
        assert a.device == "cpu" and a.ptr % 64 == 0
        np.testing.assert_array_equal(a.numpy(), data)
        assert a.numpy().dtype == data.dtype
        assert a.list() == data.ravel().tolist()


@pytest.mark.parametrize("dtype", COMPOSITES, ids=lambda t: t.__name__)
@pytest.mark.parametrize("shape", [(4,), (2, 3)], ids=str)
def test_composites(dtype, shape):
    full = shape + dtype.shape
    data = np.arange(np.prod(full)).reshape(full).astype(dtype.dtype.np_dtype)
    a = cpu(data, dtype=dtype)
    assert a.shape == shape and a.item_bytes == dtype.np_dtype.itemsize
    np.testing.assert_array_equal(a.numpy(), data)
    values = a.list()
    assert type(values[1]) is dtype and len(values) == np.prod(shape)
    again = cpu(values, dtype=dtype)
    np.testing.assert_array_equal(again.numpy(), data.reshape((-1, *dtype.shape)))
    np.testing.assert_array_equal(cpu(values).numpy(), again.numpy())


def test_types_taken_from_the_data():
    assert cpu([1.5, 2.0]).dtype is wp.float64
    assert cpu([1, 2]).dtype is wp.int64
    assert cpu([True]).dtype is wp.bool
    assert cpu(np.zeros(2)).dtype is wp.float64
    assert cpu([wp.vec3(1, 2, 3)]).dtype is wp.vec3
    assert cpu([[1.0, 2.0], [3.0, 4.0]]).shape == (2, 2)
    assert cpu([1, 2.5]).numpy().tolist() == [1.0, 2.5]
    assert cpu([np.float64(1.0)]).dtype is wp.float64
    assert cpu(3.0).shape == (1,)


def test_bfloat16():
    values = [1.0, 3.140625, -2.0e30, 0.0]
    a = cpu(values, dtype=wp.bfloat16)
    wanted = torch.tensor(values).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    np.testing.assert_array_equal(a.numpy(), wanted)
    assert a.item_bytes == 2


def test_an_array_from_another():
    a = cpu([[1, 2], [3, 4]], dtype=wp.int32)
    b = cpu(a, dtype=wp.float64)
    assert b.dtype is wp.float64 and b.numpy().tolist() == [[1, 2], [3, 4]]
    c = cpu(a)
    a.fill_(0)
    assert c.numpy().tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "make, values",
    [
        (lambda: wp.zeros((2, 2), dtype=wp.float64, device="cpu"), 0),
        (lambda: wp.zeros(4, device="cpu"), 0),
        (lambda: wp.ones(3, dtype=wp.int16, device="cpu"), 1),
        (lambda: wp.ones(2, dtype=wp.vec3, device="cpu"), 1),
        (lambda: wp.full((2, 3), 7, dtype=wp.uint8, device="cpu"), 7),
        (lambda: wp.full(2, 1.5, device="cpu"), 1.5),
        (lambda: wp.zeros_like(wp.ones((2, 1), device="cpu")), 0),
        (lambda: wp.ones_like(wp.zeros(3, dtype=wp.mat22, device="cpu")), 1),
        (lambda: wp.full_like(wp.zeros(3, device="cpu"), 2.5), 2.5),
    ],
)
def test_constant_arrays(make, values):
    a = make()
    np.testing.assert_array_equal(a.numpy(), np.full_like(a.numpy(), values))


def test_full_of_a_vector():
    a = wp.full(3, wp.vec3(1, 2, 3), dtype=wp.vec3, device="cpu")
    np.testing.assert_array_equal(a.numpy(), np.tile([1, 2, 3], (3, 1)))
    a.fill_((4, 5, 6))
    np.testing.assert_array_equal(a.numpy(), np.tile([4, 5, 6], (3, 1)))
    a.fill_(2.0)
    a[1] = 7
    assert a.numpy().tolist() == [[2, 2, 2], [7, 7, 7], [2, 2, 2]]


def test_empty_and_its_defaults():
    a = wp.empty((3, 2), device="cpu")
    assert a.dtype is wp.float32 and a.shape == (3, 2) and a.grad is None
    assert wp.empty_like(a).shape == (3, 2)
    assert cpu(shape=3, dtype=int).dtype is wp.int32


KEYS = [
    (slice(1, 3),),
    (slice(None, None, 2), slice(None, None, -1)),
    (1,),
    (-1, 2),
    (slice(None), 1, slice(3, 0, -2)),
    (..., 0),
    (1, ..., slice(1, None)),
    (slice(2, 2),),
    (0, 0, 0),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_views_share_memory(key):
    data = np.arange(3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5)
    a = cpu(data)
    view, wanted = a[key], data[key]
    assert view.shape == np.shape(wanted)
    np.testing.assert_array_equal(view.numpy(), wanted)
    if np.ndim(wanted) and wanted.size > 1:
        assert view.strides == wanted.strides
    if wanted.size:
        assert a.shares_memory(view)
        a[key] = -1.0
        data[key] = -1.0
        np.testing.assert_array_equal(a.numpy(), data)
        a[key].zero_()
        data[key] = 0.0
        np.testing.assert_array_equal(a.numpy(), data)


def test_assignment_to_views():
    data = np.arange(12.0).reshape(3, 4)
    a = cpu(data)
    a[1] = np.array([9.0, 8.0, 7.0, 6.0])
    a[:, 2] = cpu([1.5, 2.5, 3.5], dtype=wp.float64)
    a[0, ::-2].assign([20.0, 21.0])
    data[1] = [9, 8, 7, 6]
    data[:, 2] = [1.5, 2.5, 3.5]
    data[0, ::-2] = [20, 21]
    np.testing.assert_array_equal(a.numpy(), data)


def test_copies_between_views():
    data = np.arange(24.0).reshape(4, 6)
    a, b = cpu(data), wp.zeros((6, 4), dtype=wp.float64, device="cpu")
    wp.copy(b, a.transpose())
    np.testing.assert_array_equal(b.numpy(), data.T)
    wp.copy(a[::2, ::3], b[:2, 2:])
    data[::2, ::3] = b.numpy()[:2, 2:]
    np.testing.assert_array_equal(a.numpy(), data)
    wp.copy(a, b, dest_offset=2, src_offset=3, count=5)
    data.ravel()[2:7] = b.numpy().ravel()[3:8]
    np.testing.assert_array_equal(a.numpy(), data)
    wp.copy(a, np.ones((4, 6)))
    assert a.numpy().min() == 1


def test_clone_is_independent():
    a = cpu([1.0, 2.0], requires_grad=True)
    b = wp.clone(a)
    assert b.requires_grad and not b.shares_memory(a)
    assert not wp.clone(a, requires_grad=False).requires_grad
    a.fill_(5.0)
    np.testing.assert_array_equal(b.numpy(), [1, 2])


def test_shapes():
    data = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    a = cpu(data)
    np.testing.assert_array_equal(a.reshape((4, -1)).numpy(), data.reshape(4, -1))
    np.testing.assert_array_equal(a.flatten().numpy(), data.ravel())
    np.testing.assert_array_equal(a.reshape(24).numpy(), data.ravel())
    np.testing.assert_array_equal(a.T.numpy(), data.T)
    np.testing.assert_array_equal(a.transpose((1, 0, 2)).numpy(), data.transpose(1, 0, 2))
    turned = a.transpose()
    assert not turned.is_contiguous and turned.contiguous().is_contiguous
    assert a.contiguous() is a
    np.testing.assert_array_equal(turned.contiguous().numpy(), data.T)


def test_numpy_shares_memory():
    a = cpu([1.0, 2.0, 3.0])
    a.numpy()[1] = 9.0
    np.testing.assert_array_equal(a.numpy(), [1, 9, 3])
    data = np.arange(4.0)
    b = wp.array(data, copy=False, device="cpu")
    data[2] = 7.0
    assert b.numpy()[2] == 7.0 and b.ptr == data.ctypes.data
    b.fill_(1.0)
    assert data.tolist() == [1, 1, 1, 1]
    host = a.numpy()
    del a
    assert host.tolist() == [1, 9, 3]


def test_an_array_keeps_shared_memory_alive():
    b = wp.array(np.full(1000, 3.0), copy=False, device="cpu")
    np.full(1000, 4.0)
    assert b.numpy().min() == 3.0
    c = wp.array(np.asfortranarray(np.arange(6.0).reshape(2, 3)), copy=False, device="cpu")
    np.testing.assert_array_equal(c.numpy(), np.arange(6.0).reshape(2, 3))


def test_memory_given_by_address():
    data = np.arange(6, dtype=np.float32)
    a = wp.array(ptr=data.ctypes.data, shape=(2, 3), dtype=float, device="cpu")
    np.testing.assert_array_equal(a.numpy(), data.reshape(2, 3))
    b = wp.array(ptr=data.ctypes.data, shape=(3,), strides=(8,), dtype=wp.float32, device="cpu")
    np.testing.assert_array_equal(b.numpy(), data[::2])


def test_the_deleter_runs_once():
    data, calls = np.zeros(2, np.float32), []
    a = wp.array(
        ptr=data.ctypes.data,
        shape=2,
        dtype=float,
        device="cpu",
        deleter=lambda ptr, size: calls.append((ptr, size)),
    )
    view = a[1:]
    del a
    assert not calls
    del view
    assert calls == [(data.ctypes.data, 8)]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_empty_arrays(shape):
    a = wp.zeros(shape, dtype=wp.vec3, device="cpu", requires_grad=True)
    assert a.size == 0 and a.numpy().shape == (*shape, 3) and a.list() == []
    a.fill_(1.0)
    wp.copy(a, wp.clone(a))
    assert a.flatten().shape == (0,)
    assert cpu([], dtype=float).shape == (0,)
    assert wp.zeros(device="cpu").shape == (0,)


def test_views_of_other_types():
    a = cpu([1.0, -2.0], dtype=wp.float32)
    bits = a.view(wp.uint32)
    np.testing.assert_array_equal(bits.numpy(), a.numpy().view(np.uint32))
    bits.zero_()
    assert a.numpy().tolist() == [0, 0]
    with pytest.raises(wp.ArgumentTypeError, match="8 bytes, but the elements of .* have 4"):
        a.view(wp.float64)


def test_gradients_of_arrays():
    a = cpu([1.0, 2.0], requires_grad=True)
    assert a.grad.shape == a.shape and a.grad.numpy().tolist() == [0, 0]
    assert a[1:].requires_grad and a[1:].grad.ptr == a.grad.ptr + 8
    a.requires_grad = False
    assert a.grad is None
    assert not cpu([1, 2], requires_grad=True).requires_grad


def test_reading_single_elements():
    a = cpu([[1.0, 2.0]])
    assert float(a.numpy()[0, 1]) == 2.0
    assert bool(cpu([0.0])) and bool(cpu([0, 0])) and not bool(cpu([]))
    assert repr(a) == "array(shape=(1, 2), dtype=float64, device='cpu')"
    assert str(a) == "[[1. 2.]]"


WRONG = [
    (lambda: cpu([object()], dtype=float), wp.ArgumentTypeError, "float32"),
    (lambda: cpu([object()]), wp.ArgumentTypeError, "object"),
    (lambda: cpu([{}]), wp.ArgumentTypeError, "elements of type dict"),
    (lambda: cpu(["a", "b"], dtype=float), wp.ArgumentTypeError, "float32"),
    (lambda: cpu([300], dtype=wp.uint8), wp.ArgumentValueError, "300"),
    (lambda: cpu([2**40], dtype=int), wp.ArgumentValueError, "int32|C long"),
    (lambda: cpu([wp.vec3()], dtype=Particle), wp.ArgumentTypeError, "got vec3f, wanted Particle"),
    (lambda: cpu([1.0, 2.0], dtype=object), wp.ArgumentTypeError, "not a kernel type"),
    (lambda: cpu([1.0], dtype="f4x"), wp.ArgumentTypeError, "not a kernel type"),
    (lambda: cpu([[1.0], [1.0, 2.0]], dtype=float), wp.ArgumentTypeError, "float32"),
    (lambda: cpu(np.zeros((2, 2)), dtype=wp.vec3), wp.ArgumentValueError, "components"),
    (lambda: cpu(np.zeros(3), shape=(2, 2)), wp.ArgumentValueError, r"\(2, 2\)"),
    (lambda: cpu(np.zeros((1,) * 5)), wp.ArgumentValueError, "at most 4"),
    (lambda: cpu(np.zeros(3), ndim=2), wp.ArgumentValueError, "1 dimensions"),
    (lambda: cpu(shape=(2, -1), dtype=float), wp.ArgumentValueError, r"shape\[1\] is -1"),
    (lambda: cpu(shape=(2.5,), dtype=float), wp.ArgumentTypeError, "tuple of ints"),
    (lambda: cpu(shape=3), wp.ArgumentTypeError, "dtype is needed"),
    (lambda: wp.zeros(3, dtype=float, device="cpu", requires=1), TypeError, "requires"),
    (lambda: wp.zeros(3, device="gpu7"), wp.Error, "gpu7"),
    (lambda: cpu([1.0]).reshape((2, 1)), wp.ArgumentValueError, "2"),
    (lambda: cpu(np.zeros((2, 3))).T.reshape(6), wp.ArgumentValueError, "contiguous"),
    (lambda: cpu(np.zeros((2, 3))).transpose((0, 0)), wp.ArgumentValueError, "order of 2 axes"),
    (lambda: cpu([1.0])[1], wp.ArgumentValueError, "index 1 is out of range"),
    (lambda: cpu([1.0])[0, 0], wp.ArgumentValueError, "2 indices for 1"),
    (lambda: cpu([1.0])["a"], wp.ArgumentTypeError, "an int, a slice or an array"),
    (lambda: cpu([1.0]).fill_("x"), wp.ArgumentTypeError, "got str"),
    (lambda: cpu([1], dtype=wp.uint8).fill_(256), wp.ArgumentValueError, "256 does not fit"),
    (lambda: cpu([1.0]).assign([1.0, 2.0]), wp.ArgumentValueError, r"\(2,\).*\(1,\)"),
    (lambda: wp.copy(cpu([1.0]), cpu([1])), wp.ArgumentTypeError, "dtypes differ"),
    (lambda: wp.copy(cpu([1.0]), cpu([1.0, 2.0])), wp.ArgumentValueError, "shapes differ"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_uses(number):
    wrong, error, text = WRONG[number]
    with pytest.raises(error, match=text):
        wrong()


def test_a_failed_write_changes_nothing():
    a = cpu([1.0, 2.0, 3.0])
    for wrong in (
        lambda: a.assign([1.0]),
        lambda: a.assign(["x", "y", "z"]),
        lambda: a.fill_("x"),
        lambda: wp.copy(a, cpu([9.0] * 4)),
        lambda: a.__setitem__(slice(0, 2), [9.0]),
    ):
        version = a.version
        with pytest.raises(wp.Error):
            wrong()
        assert a.version == version
        np.testing.assert_array_equal(a.numpy(), [1, 2, 3])


def test_a_freed_array():
    a = cpu([1.0, 2.0])
    view = a[:1]
    a.free()
    assert a.freed and view.freed
    for use in (
        lambda: a.numpy(),
        lambda: view.numpy(),
        lambda: a.fill_(1.0),
        lambda: a.zero_(),
        lambda: a.assign([1.0, 2.0]),
        lambda: wp.clone(a),
        lambda: wp.copy(cpu([0.0]), view),
        lambda: a.free(),
        lambda: np.asarray(a),
    ):
        with pytest.raises(wp.ArgumentValueError, match="freed"):
            use()


def test_structs_in_arrays():
    a = wp.zeros(2, dtype=Particle, device="cpu")
    p = Particle(position=wp.vec3d(1, 2, 3), mass=2.5, kind=7)
    a = cpu([p, Particle()], dtype=Particle)
    assert a.shape == (2,) and a.item_bytes == Particle.np_dtype.itemsize
    assert a.numpy()["mass"].tolist() == [2.5, 0.0]
    assert a.list()[0] == p
    a.fill_(p)
    assert a.list() == [p, p]
    a.zero_()
    assert a.list()[1] == Particle()
    b = cpu(np.zeros(3, dtype=Particle.np_dtype), dtype=Particle)
    assert b.shape == (3,)


@wp.struct
class Particle:
    position: wp.vec3d
    mass: float
    kind: wp.uint8
