# SPDX-License-Identifier: Apache-2.0
# test_host_api.py: the rest of the host API: what arrays are made of, index arrays, casts, tapes as
# mappings, timers, devices, other libraries.
import copy
import importlib
import io

import numpy as np
import pytest
import torch
import warp_torch as wp


def cpu(data, **options):
    return wp.array(data, device="cpu", **options)


@wp.struct
class Body:
    mass: float
    pos: wp.vec3
    fixed: wp.bool


@wp.kernel
def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def test_data_for_components():
    np.testing.assert_array_equal(cpu(range(6), dtype=wp.vec3).numpy(), [[0, 1, 2], [3, 4, 5]])
    assert cpu(np.arange(8.0), dtype=wp.mat22).shape == (2,)
    assert cpu(np.zeros((0, 3)), dtype=wp.vec3).shape == (0,)
    flat = cpu(cpu([[1, 2, 3]], dtype=wp.vec3), dtype=float)
    assert flat.shape == (1, 3)
    assert cpu(flat, dtype=wp.vec3).shape == (1,)
    for ndim in (1, 2, 3, 4):
        maker = getattr(wp, f"array{ndim}d")
        assert maker(np.zeros((2,) * ndim), dtype=float, device="cpu").ndim == ndim
        assert maker(shape=(1,) * ndim, dtype=int, device="cpu").shape == (1,) * ndim


@pytest.mark.parametrize(
    "shape, dtype",
    [
        ((5,), wp.float32),
        ((5, 3), wp.vec3),
        ((5, 7), wp.types.vector(7, wp.float32)),
        ((5, 4, 4), wp.mat44),
        ((2, 3, 2), wp.types.matrix((3, 2), wp.float32)),
        ((2, 2, 2, 2), wp.float32),
    ],
)
def test_from_numpy_takes_the_dtype_from_the_dimensions(shape, dtype):
    a = wp.from_numpy(np.ones(shape, np.float32), device="cpu")
    assert a.dtype is dtype
    assert a.shape == shape[: len(shape) - len(getattr(dtype, "shape", ()))]


def test_shared_memory():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for part in (x, x.T, x[:, ::2]):
        a = cpu(part, dtype=float, copy=False)
        assert a.ptr == part.ctypes.data and a.strides == part.strides
    rows = cpu(x[:, :3], dtype=wp.vec3, copy=False)
    rows.fill_(1.0)
    assert x.sum() == 9 + 3 + 7 + 11
    assert cpu(cpu(x), copy=False).shape == (3, 4)
    a = cpu([1.0])
    assert cpu(a, copy=False).ptr == a.ptr != cpu(a).ptr
    strided = wp.zeros((4, 4), device="cpu")
    strided[::2, 1].numpy()[:] = 1.0
    assert strided.numpy().sum() == 2
    assert wp.from_ptr(x.ctypes.data, 4, device="cpu").list() == [1, 1, 1, 3]
    with pytest.raises(wp.ArgumentValueError, match="4 elements"):
        wp.from_ptr(x.ctypes.data, 4, shape=(3,))


def test_full_takes_the_dtype_from_the_value():
    body = Body(mass=2.0, pos=(1, 2, 3), fixed=True)
    for value, dtype in (
        (5, wp.int32), (5.0, wp.float32), (True, wp.bool), (np.int8(3), wp.int8),
        ((1.0, 2.0), wp.vec2d), (np.float32([[1, 2], [3, 4]]), wp.mat22), (body, Body),
    ):  # fmt: skip
        assert wp.full(2, value, device="cpu").dtype is dtype
    a = wp.full((2, 2), body, device="cpu")
    assert a[1, 1].list() == [body]
    a.fill_(0)
    assert not a.numpy().view(np.uint8).any()
    n = np.zeros(2, dtype=Body.numpy_dtype())
    n["pos"][1] = [4, 5, 6]
    assert wp.from_numpy(n, dtype=Body, device="cpu").list()[1].pos == wp.vec3(4, 5, 6)


def test_properties_and_copies():
    a = wp.zeros((2, 3), dtype=wp.vec3, device="cpu")
    assert a.capacity == 72 and not a.pinned and not a.is_transposed
    assert a.transpose().is_transposed
    a.mark_init(), a.mark_read(), a.mark_write()
    b = copy.deepcopy(a)
    a.fill_(1.0)
    assert b.numpy().sum() == 0 and copy.copy(a).ptr == a.ptr
    d = wp.full(5, 7.0, device="cpu")
    wp.copy(d, cpu([[1.0, 2.0], [3.0, 4.0]], dtype=float))
    assert d.list() == [1, 2, 3, 4, 7]
    with pytest.raises(wp.ArgumentValueError, match="3 elements from 0 of 5 to 3 of 5"):
        wp.copy(d, d, dest_offset=3, count=3)


def test_index_arrays():
    m = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    a = cpu(m, dtype=float)
    i, j = cpu([1, 0, 1], dtype=int), cpu([2, 0], dtype=int)
    np.testing.assert_array_equal(a[i].numpy(), m[[1, 0, 1]])
    np.testing.assert_array_equal(a[i, 1:, j].numpy(), m[[1, 0, 1]][:, 1:][:, :, [2, 0]])
    np.testing.assert_array_equal(a[..., j].contiguous().numpy(), m[..., [2, 0]])
    np.testing.assert_array_equal(a[0, j].flatten().numpy(), m[0][[2, 0]].ravel())
    picked = a[:, j]
    assert wp.clone(picked).shape == wp.zeros_like(picked).shape == (2, 2, 4)
    wp.copy(picked, wp.ones((2, 2, 4), device="cpu"))
    m[:, [2, 0]] = 1
    np.testing.assert_array_equal(a.numpy(), m)
    picked.fill_(3.0)
    picked.assign(m[:, [2, 0]] * 2)
    np.testing.assert_array_equal(picked.numpy(), 2)
    assert wp.utils.array_sum(picked.contiguous()) == 32
    with pytest.raises(wp.ArgumentTypeError, match="int32"):
        a[cpu([0.0])]


def test_gradients_of_index_arrays():
    x = cpu([1.0, 2.0, 3.0], dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        y = wp.map(wp.sin, x[cpu([2, 0], dtype=int)])
        z = wp.clone(x[cpu([1, 1], dtype=int)])
    tape.backward(grads={y: cpu([1.0, 10.0], dtype=float), z: cpu([5.0, 7.0], dtype=float)})
    np.testing.assert_allclose(x.grad.numpy(), [10 * np.cos(1), 12, np.cos(3)], rtol=1e-6)


def test_map():
    x, m = cpu([1.0, 2.0], dtype=float), cpu([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=float)
    np.testing.assert_array_equal((m + x).numpy(), m.numpy() + x.numpy())
    np.testing.assert_array_equal(wp.map(wp.mul, m[:, :1], x).numpy(), m.numpy()[:, :1] * x.numpy())
    pair = wp.map(lambda a: (a * 2.0, int(a)), x)
    assert [p.dtype for p in pair] == [wp.float32, wp.int32]
    assert pair[0].list() == [2, 4] and pair[1].list() == [1, 2]
    given = [wp.zeros(2, device="cpu"), wp.zeros(2, dtype=int, device="cpu")]
    assert wp.map(lambda a: (a * 2.0, int(a)), x, out=given) is given
    assert given[0].list() == [2, 4]
    made = wp.map(wp.sqrt, x, return_kernel=True)
    out = wp.zeros(2, device="cpu")
    wp.launch(made, dim=2, inputs=[x], outputs=[out])
    np.testing.assert_allclose(out.numpy(), np.sqrt([1, 2]), rtol=1e-6)
    with pytest.raises(wp.ArgumentValueError, match="shapes"):
        wp.map(wp.add, x, cpu([1.0, 2.0, 3.0], dtype=float))


@pytest.mark.parametrize("dtype", [wp.int32, wp.float32, wp.uint64])
def test_segments_are_sorted(dtype):
    rng = np.random.default_rng(1)
    keys, cuts = rng.integers(0, 9, 40), [0, 7, 7, 20, 33]
    k, v = cpu(keys, dtype=dtype), cpu(np.arange(40), dtype=int)
    wp.utils.segmented_sort_pairs(k, v, 40, cpu(cuts, dtype=int))
    wanted = np.arange(40)
    for a, b in zip(cuts, cuts[1:], strict=False):
        wanted[a:b] = a + np.argsort(keys[a:b], kind="stable")
    np.testing.assert_array_equal(v.numpy(), wanted)
    np.testing.assert_array_equal(k.numpy(), keys[wanted])
    k, v = cpu(keys, dtype=dtype), cpu(np.arange(40), dtype=int)
    wp.utils.segmented_sort_pairs(k, v, 40, cpu([7, 0], dtype=int), cpu([20, 7], dtype=int))
    np.testing.assert_array_equal(v.numpy()[:20], wanted[:20])
    np.testing.assert_array_equal(v.numpy()[20:], np.arange(20, 40))
    with pytest.raises(wp.ArgumentValueError, match="within"):
        wp.utils.segmented_sort_pairs(k, v, 5, cpu([0, 7], dtype=int))


def test_tapes_as_mappings():
    x, plain = cpu([1.0, 2.0], dtype=float, requires_grad=True), cpu([0.0], dtype=float)
    y = wp.zeros(2, requires_grad=True, device="cpu")
    tape = wp.Tape()
    with tape:
        tape.record_scope_begin("doubling")
        wp.launch(double, dim=2, inputs=[x], outputs=[y])
        tape.record_scope_end()
    tape.backward(grads={y: cpu([1.0, 3.0], dtype=float)})
    assert len(tape.gradients) == 2 and x in tape.gradients and plain not in tape.gradients
    assert tape.gradients.get(plain) is None and tape.gradients[x].list() == [2, 6]
    assert [launch[0] for launch in tape.launches] == [double] and len(tape.scopes) == 2
    text = tape.visualize()
    assert text.startswith("digraph") and "doubling" in text and "double" in text
    assert wp.autograd.gradcheck_tape(tape, eps=1e-2, show_summary=False)
    assert wp.autograd.gradcheck_tape(tape, blacklist_kernels=["double"])
    tape.reset()
    assert not tape.launches and not tape.scopes
    tape.record_launch(double, 2, 0, [x], [y], wp.get_device("cpu"))
    tape.backward(grads={y: cpu([1.0, 1.0], dtype=float)})
    assert x.grad.list() == [2, 2]


def test_gradients_of_fields():
    @wp.struct
    class State:
        x: wp.array(dtype=float)

    state = State(x=cpu([1.0], dtype=float, requires_grad=True))
    assert wp.Tape().gradients[state].x.ptr == state.x.grad.ptr


def test_timers(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    lines = []
    with wp.ScopedTimer("a", cuda_filter=wp.TIMING_ALL, report_func=lambda r, i: lines.append(r)):
        wp.launch(double, dim=1, inputs=[wp.zeros(1, device="cpu"), wp.zeros(1, device="cpu")])
    assert lines == [[]] and "a took" in out.getvalue()
    wp.timing_begin(wp.TIMING_KERNEL)
    assert wp.timing_end() == []
    wp.timing_print([wp.TimingResult(wp.get_device("cpu"), "k", wp.TIMING_KERNEL, 1.5)])
    assert "1.500000 ms" in out.getvalue()
    with pytest.raises(wp.ArgumentTypeError, match="dict"):
        wp.ScopedTimer("a", dict=[])
    with pytest.raises(wp.ArgumentValueError, match="timing_begin"):
        wp.timing_end()


def test_devices_and_pools():
    d = wp.get_device("cpu")
    assert not (d.is_mempool_supported or d.has_stream or d.is_uva or d.sm_count)
    assert d.can_access("cpu") and not wp.is_device_available("cuda:99")
    assert not wp.is_mempool_enabled("cpu") and not wp.is_peer_access_supported("cpu", "cpu")
    for call in (
        lambda: wp.set_mempool_enabled("cpu", True),
        lambda: wp.get_mempool_used_mem_current("cpu"),
        lambda: wp.ScopedMempool("cpu", True),
        lambda: wp.set_peer_access_enabled("cpu", "cpu", True),
    ):
        with pytest.raises(wp.ArgumentValueError, match="CPU"):
            call()


def test_diagnostics(capsys):
    found = wp.print_diagnostics()
    assert found["torch"] == torch.__version__ and "cpu: " in found["devices"][0]
    assert f"warp_torch: {wp.__version__}" in capsys.readouterr().out


def test_modules_by_name():
    assert importlib.import_module("warp_torch.utils") is wp.utils
    assert importlib.import_module("warp_torch.optim.linear") is wp.optim.linear


def test_integers_of_torch_as_unsigned():
    t = torch.tensor([1, -1], dtype=torch.int32)
    assert wp.from_torch(t, dtype=wp.uint32).list() == [1, 2**32 - 1]
    with pytest.raises(wp.ArgumentTypeError, match="float32"):
        wp.from_torch(t, dtype=wp.float32)


def test_torch_optimises_the_memory_of_arrays():
    x = cpu([1.0, 2.0], dtype=float, requires_grad=True)
    t = wp.to_torch(x)
    x.grad.fill_(1.0)
    torch.optim.SGD([t], lr=0.5).step()
    assert x.list() == [0.5, 1.5]


def test_half_precision_averages_are_float32():
    x = wp.zeros(2, dtype=wp.vec2h, requires_grad=True, device="cpu")
    x.grad.fill_(1.0)
    wp.optim.Adam([x], lr=0.1).step([x.grad])
    np.testing.assert_allclose(x.numpy(), -0.1, rtol=1e-3)


def test_jax():
    jax = pytest.importorskip("jax")
    j = jax.numpy.arange(6, dtype=jax.numpy.float32).reshape(2, 3)
    a = wp.from_jax(j, dtype=wp.vec3)
    assert a.shape == (2,) and a.numpy().sum() == 15
    assert np.asarray(wp.to_jax(cpu([1.0, 2.0], dtype=float))).tolist() == [1, 2]
    assert wp.dtype_from_jax(wp.dtype_to_jax(wp.bool)) is wp.bool
    assert wp.device_from_jax(wp.device_to_jax("cpu")) == "cpu"
