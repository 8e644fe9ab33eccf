# SPDX-License-Identifier: Apache-2.0
# test_dlpack.py: arrays and others' tensors on the same memory, both ways; every trap of the protocol
# raises or is right.
import gc
import threading
import weakref

import numpy as np
import pytest
import torch
import warp_torch as wt
from torch.utils import dlpack

DTYPES = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"]


def host(*shape, dtype="float32"):
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES + ["uint16", "uint32", "uint64"])
def test_numpy_both_ways(dtype):
    n = host(2, 3, dtype=dtype)
    a = wt.from_dlpack(n)
    assert a.shape == (2, 3) and a.ptr == n.ctypes.data
    back = np.from_dlpack(a)
    assert back.dtype == n.dtype and np.array_equal(back, n)
    n[1, 2] = 1
    assert back[1, 2] == n[1, 2]


@pytest.mark.parametrize("dtype", DTYPES + ["bfloat16", "uint16"])
def test_torch_both_ways(dtype):
    t = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    a = wt.from_dlpack(t)
    assert a.ptr == t.data_ptr()
    for back in (torch.from_dlpack(wt.from_dlpack(dlpack.to_dlpack(t))), wt.to_torch(a)):
        assert back.dtype == t.dtype and back.data_ptr() == t.data_ptr() and torch.equal(back, t)


@pytest.mark.parametrize("view", [
    lambda t: t[::2], lambda t: t.T, lambda t: t[1:, 2:], lambda t: t[:1].expand(4, 5),
])  # fmt: skip
def test_views(view):
    t = view(torch.arange(20.0).reshape(4, 5))
    a = wt.from_dlpack(dlpack.to_dlpack(t))
    assert a.ptr == t.data_ptr() and a.shape == tuple(t.shape)
    assert a.strides == tuple(4 * s for s in t.stride())
    back = torch.from_dlpack(a)
    assert back.stride() == t.stride() and torch.equal(back, t)


def test_negative_strides_of_numpy():
    n = host(3, 4)[::-1, ::-2]
    a = wt.from_dlpack(n)
    assert np.array_equal(a.numpy(), n)
    assert np.array_equal(np.from_dlpack(a), n)


def test_components_are_the_last_dimensions():
    a = wt.array(host(5, 3), dtype=wt.vec3)
    t = torch.from_dlpack(a)
    assert t.shape == (5, 3) and t.data_ptr() == a.ptr
    m = wt.from_dlpack(torch.arange(18.0).reshape(2, 3, 3), dtype=wt.mat33)
    assert m.shape == (2,) and m.dtype is wt.mat33
    with pytest.raises(wt.ArgumentValueError, match="has size 3"):
        wt.from_dlpack(host(5, 3), dtype=wt.vec2)
    with pytest.raises(wt.ArgumentValueError, match="do not lie together"):
        wt.from_dlpack(host(3, 5).T, dtype=wt.vec3)
    with pytest.raises(wt.ArgumentTypeError, match="is no array of"):
        wt.from_dlpack(host(5, 3, dtype="float64"), dtype=wt.vec3)


def test_sizes_of_zero_and_no_dimensions():
    a = wt.from_dlpack(host(0, 3))
    assert a.shape == (0, 3) and torch.from_dlpack(a).shape == (0, 3)
    assert wt.from_dlpack(torch.tensor(2.0)).numpy().tolist() == [2.0]
    assert np.from_dlpack(wt.zeros((2, 0), dtype=float, device="cpu")).shape == (2, 0)


def test_memory_lives_as_long_as_its_users():
    for wrapped in (wt.from_torch, lambda t: wt.from_dlpack(dlpack.to_dlpack(t))):
        t = torch.arange(4.0)
        ref = weakref.ref(t)
        a = wrapped(t)
        part = a[1:]
        del t, a
        gc.collect()
        assert ref() is not None
        del part
        gc.collect()
        assert ref() is None
    b = wt.from_dlpack(dlpack.to_dlpack(torch.arange(4.0)))
    back = torch.from_dlpack(b)
    del b
    assert back.tolist() == [0, 1, 2, 3]
    n = np.from_dlpack(wt.array([1.0, 2.0], dtype=float, device="cpu"))
    gc.collect()
    assert n.tolist() == [1, 2]


def test_a_capsule_that_nobody_takes_frees_its_memory():
    n = host(4)
    ref = weakref.ref(n)
    capsule = wt.from_dlpack(n).__dlpack__()
    del n
    gc.collect()
    assert ref() is not None
    del capsule
    gc.collect()
    assert ref() is None


def test_the_last_owner_may_be_on_another_thread():
    t = torch.from_dlpack(wt.array([1.0, 2.0], dtype=float, device="cpu"))
    box = [t]
    del t
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    assert not box


def test_versions_and_capsule_names():
    a = wt.zeros(3, dtype=float, device="cpu")
    assert '"dltensor"' in repr(a.__dlpack__())
    assert '"dltensor_versioned"' in repr(a.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(a.__dlpack__(max_version=(0, 8)))
    assert a.__dlpack_device__() == (1, 0)
    capsule = a.__dlpack__()
    wt.from_dlpack(capsule)
    assert '"used_dltensor"' in repr(capsule)
    with pytest.raises(wt.ArgumentTypeError, match="nobody has taken yet"):
        wt.from_dlpack(capsule)


def test_copies_when_asked():
    a = wt.array([1.0, 2.0], dtype=float, device="cpu")
    n = np.from_dlpack(a, copy=True)
    n[0] = 5
    assert a.numpy()[0] == 1
    assert torch.utils.dlpack.from_dlpack(wt.to_dlpack(a, copy=False)).data_ptr() == a.ptr


def test_streams_of_the_cpu():
    a = wt.zeros(3, dtype=float, device="cpu")
    a.__dlpack__(stream=None)
    a.__dlpack__(stream=-1)
    with pytest.raises(BufferError, match="no streams"):
        a.__dlpack__(stream=1)


def test_what_cannot_be_exported():
    @wt.struct
    class Pair:
        a: float
        b: int

    with pytest.raises(BufferError, match="structs"):
        wt.zeros(3, dtype=Pair, device="cpu").__dlpack__()
    freed = wt.zeros(3, dtype=float, device="cpu")
    freed.free()
    with pytest.raises(BufferError, match="freed"):
        freed.__dlpack__()
    with pytest.raises(BufferError, match="to the CPU"):
        wt.zeros(3, dtype=float, device="cpu").__dlpack__(dl_device=(2, 0))


def test_what_cannot_be_imported():
    n = host(3)
    n.flags.writeable = False
    with pytest.raises(wt.ArgumentValueError, match="read-only"):
        wt.from_dlpack(n)
    with pytest.raises(wt.ArgumentTypeError, match="no kernel type"):
        wt.from_dlpack(host(3).astype(np.complex64))
    with pytest.raises(wt.ArgumentTypeError, match="no kernel type"):
        wt.from_dlpack(dlpack.to_dlpack(torch.zeros(3).to(torch.float8_e5m2)))
    with pytest.raises(wt.ArgumentValueError, match="5 dimensions"):
        wt.from_dlpack(host(1, 1, 1, 1, 1))
    with pytest.raises(wt.ArgumentTypeError, match="wanted an object with __dlpack__"):
        wt.from_dlpack([1, 2])
    with pytest.raises(wt.ArgumentValueError, match="aligned"):
        wt.from_dlpack(np.frombuffer(bytearray(17), np.uint8)[1:].view(np.float32))


def test_tensors_that_are_not_what_their_memory_says():
    with pytest.raises(wt.ArgumentValueError, match="requires a gradient"):
        wt.from_dlpack(torch.zeros(3, requires_grad=True))
    with pytest.raises(wt.ArgumentValueError, match="resolve"):
        wt.from_dlpack(torch._neg_view(torch.ones(3)))
    with pytest.raises(wt.ArgumentTypeError, match="no kernel type"):
        wt.from_dlpack(torch.zeros(3, dtype=torch.complex64))
    with pytest.raises(wt.ArgumentValueError, match="holds no data"):
        wt.from_dlpack(torch.zeros(3, device="meta"))
    with pytest.raises(wt.ArgumentTypeError, match="layout"):
        wt.from_dlpack(torch.eye(3).to_sparse())
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.zeros(3)
    with pytest.raises(wt.ArgumentTypeError, match="FakeTensor"):
        wt.from_dlpack(fake)


def test_a_producer_without_versions():
    class Old:
        def __init__(self, t):
            self.t = t

        def __dlpack__(self, stream=None):
            return dlpack.to_dlpack(self.t)

        def __dlpack_device__(self):
            return (1, 0)

    assert wt.from_dlpack(Old(torch.arange(3.0))).numpy().tolist() == [0, 1, 2]


def test_launch_takes_what_speaks_dlpack():
    class Other:
        def __init__(self, t):
            self.t = t

        def __dlpack__(self, **kwargs):
            return self.t.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.t.__dlpack_device__()

    @wt.kernel
    def double(x: wt.array(dtype=float)):
        i = wt.tid()
        x[i] = x[i] * 2.0

    t = torch.arange(3.0)
    wt.launch(double, 3, inputs=[Other(t)], device="cpu")
    assert t.tolist() == [0, 2, 4]


@pytest.mark.cuda
def test_cuda_both_ways():
    t = torch.arange(6.0, device="cuda").reshape(2, 3)
    a = wt.from_dlpack(t, dtype=wt.vec3)
    assert a.ptr == t.data_ptr() and a.device_name == f"cuda:{t.device.index}"
    b = wt.from_dlpack(dlpack.to_dlpack(t))
    back = torch.from_dlpack(b)
    assert back.data_ptr() == t.data_ptr() and torch.equal(back, t)
    own = wt.full(1000, 3.0, dtype=wt.float16, device="cuda:0")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        assert torch.from_dlpack(own).sum().item() == 3000
    assert wt.to_torch(own).dtype == torch.float16
    host_copy = np.from_dlpack(own, device="cpu", copy=True)
    assert host_copy.shape == (1000,) and host_copy[0] == 3
    with pytest.raises(BufferError):
        own.__dlpack__(stream=0)
