# SPDX-License-Identifier: Apache-2.0
# test_half.py: float16 and bfloat16: the host's arithmetic is a kernel's, one rounding an operation,
# the same bits on the CPU and on a GPU.
import operator

import numpy as np
import pytest
import torch
import warp_torch as wp

HALF = [wp.float16, wp.bfloat16]
TORCH = {wp.float16: torch.float16, wp.bfloat16: torch.bfloat16}
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.mod]
ids = {"ids": lambda t: t.__name__}


def numbers(dtype, n, seed):
    """Values of all sizes, a few of them subnormal, infinite or zero."""
    rng = np.random.default_rng(seed)
    wide = rng.standard_normal(n) * 2.0 ** rng.integers(-16, 14, n)
    wide[:6] = [0.0, -0.0, np.inf, 6e-8, 65504.0, 1e-40]
    return [dtype(float(x)) for x in wide]


def bits(a):
    return torch.as_tensor(wp.to_torch(a)).cpu().view(torch.int16).numpy()


def arithmetic(dtype):
    @wp.kernel
    def run(a: wp.array(dtype=dtype), b: wp.array(dtype=dtype), out: wp.array2d(dtype=dtype)):
        i = wp.tid()
        out[0, i] = a[i] + b[i]
        out[1, i] = a[i] - b[i]
        out[2, i] = a[i] * b[i]
        out[3, i] = a[i] / b[i]
        out[4, i] = a[i] % b[i]
        out[5, i] = a[i] * dtype(0.1) + dtype(0.2)

    return run


def run_arithmetic(dtype, device, n=400):
    a, b = numbers(dtype, n, 1), numbers(dtype, n, 2)[::-1]
    arrays = [wp.array(x, dtype=dtype, device=device) for x in (a, b)]
    out = wp.zeros((6, n), dtype=dtype, device=device)
    wp.launch(arithmetic(dtype), dim=n, inputs=[*arrays, out], device=device)
    return a, b, out


def same(got, want):
    """The same bits, but NaN is NaN."""
    return got == want or (got != got and want != want)


def test_the_example_of_the_documentation(device):
    @wp.kernel
    def add(out: wp.array(dtype=wp.float16), out_b: wp.array(dtype=wp.bfloat16)):
        out[0] = wp.float16(0.1) + wp.float16(0.2)
        out_b[0] = wp.bfloat16(0.1) + wp.bfloat16(0.2)

    out, out_b = wp.zeros(1, dtype=wp.float16), wp.zeros(1, dtype=wp.bfloat16)
    wp.launch(add, dim=1, inputs=[out, out_b])
    assert wp.to_torch(out)[0].item() == float(wp.float16(0.1) + wp.float16(0.2))
    assert wp.to_torch(out_b)[0].item() == float(wp.bfloat16(0.1) + wp.bfloat16(0.2))
    assert float(wp.float16(0.1) + wp.float16(0.2)) == float(np.float16(0.1) + np.float16(0.2))
    assert wp.float16(0.1) + 0.2 == wp.float16(0.1) + wp.float16(0.2)


@pytest.mark.parametrize("dtype", HALF, **ids)
def test_the_host_rounds_as_a_kernel_does(dtype, device):
    a, b, out = run_arithmetic(dtype, device)
    got = wp.to_torch(out).double().cpu().numpy()
    for k, op in enumerate(OPERATORS):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert same(got[k, i], float(op(x, y))), (op.__name__, x, y)
    for i, x in enumerate(a):
        assert same(got[5, i], float(x * 0.1 + 0.2))


@pytest.mark.parametrize("dtype", HALF, **ids)
def test_a_kernel_rounds_as_torch_does(dtype, device):
    a, b, out = run_arithmetic(dtype, device)
    x, y = (torch.tensor([float(v) for v in w]).to(TORCH[dtype]) for w in (a, b))
    want = torch.stack([x + y, x - y, x * y, x / y])
    got = wp.to_torch(out)[:4].cpu()
    same_bits = got.view(torch.int16) == want.view(torch.int16)
    assert (same_bits | (got.isnan() & want.isnan())).all()


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", HALF, **ids)
def test_a_gpu_gives_the_bits_of_the_cpu(dtype):
    results = [run_arithmetic(dtype, device)[2] for device in ("cpu", "cuda:0")]
    on_cpu, on_gpu = (wp.to_torch(r).cpu() for r in results)
    same_bits = on_cpu.view(torch.int16) == on_gpu.view(torch.int16)
    assert (same_bits | (on_cpu.isnan() & on_gpu.isnan())).all()


@pytest.mark.parametrize("dtype", HALF, **ids)
def test_doubles_and_integers_are_rounded_once(dtype, device):
    @wp.kernel
    def narrow(
        x: wp.array(dtype=wp.float64),
        n: wp.array(dtype=int),
        out: wp.array(dtype=dtype),
        out_n: wp.array(dtype=dtype),
    ):
        i = wp.tid()
        out[i] = dtype(x[i])
        out_n[i] = dtype(n[i])

    # Just above and below a tie of two neighbours, which a float on the way would make a tie.
    tie = 1.0 + 2.0 ** (-11 if dtype is wp.float16 else -8)
    x = [tie, tie + 2.0**-40, tie - 2.0**-40, -tie - 2.0**-40, 1e300, 3e-8, -1e-300, 0.0]
    n = [0, 1, -3, 2049, 257 * 2**16 + 1, 257 * 2**16 - 1, 65519, -(2**31)]
    out, out_n = (wp.zeros(len(v), dtype=dtype) for v in (x, n))
    arrays = [wp.array(x, dtype=wp.float64), wp.array(n, dtype=int)]
    wp.launch(narrow, dim=len(x), inputs=[*arrays, out, out_n])
    assert wp.to_torch(out).tolist() == [float(dtype(v)) for v in x]
    assert wp.to_torch(out_n).tolist() == [float(dtype(v)) for v in n]
    if dtype is wp.float16:
        with np.errstate(over="ignore"):
            assert wp.to_torch(out).tolist() == np.array(x).astype(np.float16).tolist()


@pytest.mark.parametrize("dtype", HALF, **ids)
def test_atomics(dtype, device):
    @wp.kernel
    def count(
        sums: wp.array(dtype=dtype),
        least: wp.array(dtype=dtype),
        most: wp.array(dtype=dtype),
        swapped: wp.array(dtype=dtype),
        seen: wp.array(dtype=dtype),
        vectors: wp.array(dtype=wp.types.vector(3, dtype)),
    ):
        i = wp.tid()
        x = dtype(i % 7) - dtype(3.0)
        wp.atomic_add(sums, i % 2, x)
        wp.atomic_sub(sums, 2, x)
        wp.atomic_min(least, 0, x)
        wp.atomic_max(most, 0, x)
        seen[i] = wp.atomic_exch(swapped, 0, x)
        wp.atomic_add(vectors, 0, wp.types.vector(3, dtype)(x, -x, dtype(1.0)))

    n = 70
    sums, seen = wp.zeros(3, dtype=dtype), wp.zeros(n, dtype=dtype)
    least, most = wp.full(1, 9.0, dtype=dtype), wp.full(1, -9.0, dtype=dtype)
    swapped, vectors = wp.full(1, 50.0, dtype=dtype), wp.zeros(1, dtype=wp.types.vector(3, dtype))
    wp.launch(count, dim=n, inputs=[sums, least, most, swapped, seen, vectors])
    x = np.arange(n) % 7 - 3.0
    # Whole numbers this small are exact in every order.
    assert wp.to_torch(sums).tolist() == [x[::2].sum(), x[1::2].sum(), -x.sum()]
    assert wp.to_torch(least).item() == -3.0 and wp.to_torch(most).item() == 3.0
    assert wp.to_torch(vectors).flatten().tolist() == [x.sum(), -x.sum(), n]
    # Every value is handed over once: the first one found, the last one left.
    left = wp.to_torch(swapped).tolist()
    assert sorted(wp.to_torch(seen).tolist() + left) == sorted([*x.tolist(), 50.0])


def collisions(device, steps=1000, n=64):
    """Balls that fall on a floor and bounce: heights and speeds after that many steps of float16."""
    half = wp.float16

    @wp.kernel
    def step(height: wp.array(dtype=half), speed: wp.array(dtype=half), dt: half, bounce: half):
        i = wp.tid()
        v = speed[i] - half(9.81) * dt
        y = height[i] + v * dt
        if y < half(0.0):
            y = -y * bounce
            v = -v * bounce
        height[i] = y
        speed[i] = v

    rng = np.random.default_rng(4)
    start = rng.uniform(0.5, 2.0, n).astype(np.float16), rng.uniform(-1, 1, n).astype(np.float16)
    arrays = [wp.array(a, dtype=half, device=device) for a in start]
    for _ in range(steps):
        wp.launch(step, dim=n, inputs=[*arrays, half(0.004), half(0.8)], device=device)
    return start, [a.numpy() for a in arrays]


def collisions_in_numpy(start, steps=1000, dtype=np.float16):
    y, v = (a.copy() for a in start)
    dt, bounce = dtype(np.float16(0.004)), dtype(np.float16(0.8))
    for _ in range(steps):
        v = v - dtype(np.float16(9.81)) * dt
        y = y + v * dt
        hit = y < 0
        y, v = np.where(hit, -y * bounce, y), np.where(hit, -v * bounce, v)
    return y, v


def test_a_thousand_collisions_drift_as_in_numpy(device):
    start, got = collisions(device)
    for a, b in zip(got, collisions_in_numpy(start), strict=True):
        np.testing.assert_array_equal(a.view(np.uint16), b.view(np.uint16))
    wide = collisions_in_numpy([a.astype(np.float64) for a in start], dtype=np.float64)
    assert np.abs(got[0] - wide[0]).max() > 0.01  # half precision is real


@pytest.mark.cuda
def test_a_thousand_collisions_drift_alike_on_the_gpu():
    results = [collisions(device)[1] for device in ("cpu", "cuda:0")]
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a.view(np.uint16), b.view(np.uint16))


def test_bfloat16_on_the_host_is_its_values():
    a = wp.array([1.5, -2.25], dtype=wp.bfloat16, device="cpu")
    assert a.list() == [1.5, -2.25] and "-2.25" in str(a)
    pairs = wp.types.vector(2, wp.bfloat16)
    assert [list(v.numpy()) for v in wp.array([[1.5, 2.5]], dtype=pairs, device="cpu").list()] == [
        [1.5, 2.5]
    ]
    bits = a.numpy()
    assert bits.dtype == np.uint16 and pairs.from_ptr(bits.ctypes.data) == pairs(1.5, -2.25)


def test_numpy_arrays_of_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = wp.array(np.array([1.5, -2.25], ml_dtypes.bfloat16), device="cpu")
    assert a.dtype is wp.bfloat16 and a.list() == [1.5, -2.25]
