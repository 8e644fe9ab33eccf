# SPDX-License-Identifier: Apache-2.0
# test_deterministic.py: sums of many threads are exact, so that no order of threads shows in them.
import math

import numpy as np
import pytest
import torch
import warp_torch as wp

pytestmark = pytest.mark.usefixtures("device")


@pytest.fixture
def deterministic():
    wp.config.deterministic = True
    yield
    wp.config.deterministic = False
    wp.config.cpu_threads = 0


def wide(n, dtype=np.float32, seed=0):
    """Numbers whose sum depends on the order in which they are added."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=n) * np.exp2(rng.integers(-30, 30, size=n))).astype(dtype)


def bits(x):
    return np.ascontiguousarray(x).tobytes()


def by_threads(run):
    """The result of a run; the same bits from one thread and from several."""
    out = []
    for threads in (1, 2, 3):
        wp.config.cpu_threads = threads
        out.append(run())
    assert bits(out[0]) == bits(out[1]) == bits(out[2])
    return out[0]


@wp.kernel
def gather(
    x: wp.array(dtype=float),
    to: wp.array(dtype=int),
    w: wp.array(dtype=float),
    y: wp.array(dtype=float),
    loss: wp.array(dtype=float),
):
    i = wp.tid()
    y[i] = x[to[i]] * w[i]
    wp.atomic_add(loss, 0, w[i])
    wp.atomic_sub(loss, 1, w[i])


def test_sums_forward_and_backward_are_exact(deterministic):
    n, m = 50000, 7
    w, cotangent = wide(n), np.ones(n, np.float32)
    to = np.random.default_rng(1).integers(0, m, size=n).astype(np.int32)

    def run():
        x = wp.array(np.ones(m, np.float32), dtype=float, requires_grad=True)
        y = wp.zeros(n, dtype=float, requires_grad=True)
        loss = wp.array([3.0, 0.0], dtype=float)
        with wp.Tape() as tape:
            wp.launch(gather, n, inputs=[x, wp.array(to), wp.array(w), y, loss])
        tape.backward(grads={y: wp.array(cotangent)})
        return np.concatenate([loss.numpy(), x.grad.numpy()])

    total = math.fsum(w.astype(np.float64))
    by_target = [math.fsum(w[to == k].astype(np.float64)) for k in range(m)]
    wanted = np.float32([math.fsum([total, 3.0]), -total, *by_target])
    np.testing.assert_array_equal(by_threads(run), wanted)


@wp.kernel
def collide(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, 0, x[i % x.shape[0]])
    wp.atomic_add(z, i % 3, x[i % x.shape[0]] * 0.3)


def test_a_million_additions_to_one_element(deterministic):
    x = wide(1 << 12)

    def run():
        y, z = wp.zeros(1, dtype=float), wp.zeros(3, dtype=float)
        wp.launch(collide, 1 << 20, inputs=[wp.array(x), y, z])
        return np.concatenate([y.numpy(), z.numpy()])

    got = by_threads(run)
    assert got[0] == np.float32(256.0 * math.fsum(x.astype(np.float64)))


@wp.struct
class Pair:
    near: wp.array(dtype=wp.vec3d)
    gain: wp.float64


@wp.kernel
def into_fields(x: wp.array(dtype=wp.float64), pair: Pair):
    i = wp.tid()
    v = wp.vec3d(x[i], x[i] * x[i], pair.gain)
    wp.atomic_add(pair.near, i % 2, v)


@pytest.mark.parametrize("reverse", [False, True])
def test_vectors_in_doubles_inside_structs(deterministic, reverse):
    x = wide(3000, np.float64)

    def run():
        memory = wp.zeros(4, dtype=wp.vec3d)
        pair = Pair()
        pair.near = memory[::-2] if reverse else memory[::2]
        pair.gain = 0.1
        wp.launch(into_fields, x.size, inputs=[wp.array(x), pair])
        return memory.numpy()

    wanted = np.zeros((4, 3))
    for k in range(2):
        part = x[k::2]
        place = (3 - 2 * k) if reverse else 2 * k
        wanted[place] = [math.fsum(part), math.fsum(part * part), math.fsum([0.1] * part.size)]
    np.testing.assert_array_equal(by_threads(run), wanted)


@wp.kernel
def spread(x: wp.array(dtype=wp.float16), y: wp.array(dtype=wp.float16)):
    i = wp.tid()
    wp.atomic_add(y, i % 2, x[i])


def test_halves_are_rounded_once(deterministic):
    x = np.full(4096, 0.1, np.float16)

    def run():
        y = wp.zeros(2, dtype=wp.float16)
        wp.launch(spread, x.size, inputs=[wp.array(x, dtype=wp.float16), y])
        return y.numpy()

    np.testing.assert_array_equal(by_threads(run), np.float16(2048 * np.float64(np.float16(0.1))))


@wp.kernel
def add_all(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    wp.atomic_add(y, 0, x[wp.tid()])


@pytest.mark.parametrize(
    "values, wanted",
    [
        ([1e308, 1e308, -1e308], 1e308),
        ([1e308, 1e308], math.inf),
        ([math.inf, 1.0], math.inf),
        ([-math.inf, 1.0], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([5e-324, 5e-324, -0.0], 1e-323),
        ([1.0, 2.0**-53], 1.0),
        ([1.0, 2.0**-53, 2.0**-1074], 1.0 + 2.0**-52),
        ([-1.0, -(2.0**-53), 2.0**-60], -1.0),
        ([1.0, -1.0], 0.0),
    ],
)
def test_rounding_and_what_is_no_number(deterministic, values, wanted):
    y = wp.zeros(1, dtype=wp.float64)
    wp.launch(add_all, len(values), inputs=[wp.array(values, dtype=wp.float64), y])
    np.testing.assert_array_equal(y.numpy()[0], wanted)


@wp.kernel(deterministic=True)
def own_option(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    wp.atomic_add(y, 0, x[wp.tid()])


def test_a_kernel_may_ask_for_it_and_more_dimensions_than_it_uses():
    x = wide(1000, np.float64)

    def run():
        y = wp.zeros(1, dtype=wp.float64)
        wp.launch(own_option, (x.size, 5), inputs=[wp.array(x), y])
        return y.numpy()

    try:
        got = by_threads(run)
    finally:
        wp.config.cpu_threads = 0
    assert got[0] == math.fsum(np.repeat(x, 5))


@wp.kernel
def counted(x: wp.array(dtype=float), count: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[wp.atomic_add(count, 0, 1)] = x[i]


@wp.kernel
def added_and_read(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, i % 2, x[i])
    x[i] = y[0]


@pytest.mark.parametrize("kernel", [counted, added_and_read])
def test_what_shows_the_order_otherwise_is_refused(deterministic, kernel):
    arrays = [wp.ones(4, dtype=float), wp.zeros(1, dtype=int), wp.zeros(4, dtype=float)]
    given = arrays if kernel is counted else [arrays[0], arrays[2]]
    with pytest.raises(wp.KernelError, match=r"WT404.*deterministic mode.*order"):
        wp.launch(kernel, 4, inputs=given)
    wp.launch(kernel, 1, inputs=given)  # one thread has an order


@wp.kernel
def own_elements(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] += x[i]
    y[i] += y[i] * x[i]


def test_elements_of_one_thread_stay_as_they_are(deterministic):
    y = wp.zeros(3, dtype=float)
    wp.launch(own_elements, 3, inputs=[wp.array([1.0, 2.0, 3.0], dtype=float), y])
    np.testing.assert_array_equal(y.numpy(), [2.0, 6.0, 12.0])


@wp.kernel
def pick(x: wp.array(dtype=float), to: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[to[i]] * x[to[i]]


@pytest.mark.parametrize("torch_says", [False, True])
def test_ops(device, torch_says):
    op = wp.kernel_op(pick, dim="to.shape[0]", deterministic=None if torch_says else True)
    w = torch.from_numpy(wide(20000)).to(device)
    to = torch.from_numpy(np.random.default_rng(1).integers(0, 4, size=w.numel())).int().to(device)
    x = torch.full((4,), 0.5, device=device, requires_grad=True)
    torch.use_deterministic_algorithms(torch_says)
    try:
        (got,) = torch.autograd.grad(op(x, to), x, w)
    finally:
        torch.use_deterministic_algorithms(False)
    # 2 * 0.5 * w is w itself.
    wanted = [math.fsum(w[to == k].double().tolist()) for k in range(4)]
    np.testing.assert_array_equal(got.cpu().numpy(), np.float32(wanted))
