# SPDX-License-Identifier: Apache-2.0
# test_random_numbers.py: distributions, searches and noise as kernels see them.
import numpy as np
import pytest

wt = pytest.importorskip("warp_torch")

COUNT = 20000


@wt.kernel
def draw_poisson(lam: float, out: wt.array(dtype=wt.uint32)):
    i = wt.tid()
    state = wt.rand_init(11, i)
    out[i] = wt.poisson(state, lam)


@wt.kernel
def draw_index(cdf: wt.array(dtype=float), out: wt.array(dtype=int)):
    i = wt.tid()
    state = wt.rand_init(5, i)
    out[i] = wt.sample_cdf(state, cdf)


@wt.kernel
def find(a: wt.array(dtype=wt.Any), x: wt.array(dtype=wt.Any), out: wt.array2d(dtype=int)):
    i = wt.tid()
    out[i, 0] = wt.lower_bound(a, x[i])
    out[i, 1] = wt.lower_bound(a, 1, 4, x[i])


@wt.kernel
def sample_noise(
    p: wt.array(dtype=wt.vec2), out: wt.array(dtype=float), wave: wt.array(dtype=float)
):
    i = wt.tid()
    state = wt.rand_init(3)
    out[i] = wt.noise(state, p[i])
    wave[i] = wt.pnoise(state, p[i], 3, 5) - wt.pnoise(state, p[i] + wt.vec2(3.0, -10.0), 3, 5)


@pytest.mark.parametrize("mean", [0.5, 4.0, 12.0, 60.0])
def test_poisson_has_its_mean_and_variance(mean):
    out = wt.zeros(COUNT, dtype=wt.uint32, device="cpu")
    wt.launch(draw_poisson, dim=COUNT, inputs=[mean, out], device="cpu")
    got = out.numpy().astype(float)
    # Five standard errors of the mean and of the variance.
    assert abs(got.mean() - mean) < 5 * np.sqrt(mean / COUNT)
    assert abs(got.var() - mean) < 5 * np.sqrt((2 * mean**2 + mean) / COUNT)


def test_sample_cdf_follows_the_probabilities():
    cdf = wt.array(np.array([0.1, 0.1, 0.6, 1.0], np.float32), dtype=float, device="cpu")
    out = wt.zeros(COUNT, dtype=int, device="cpu")
    wt.launch(draw_index, dim=COUNT, inputs=[cdf, out], device="cpu")
    share = np.bincount(out.numpy(), minlength=4) / COUNT
    np.testing.assert_allclose(share, [0.1, 0, 0.5, 0.4], atol=0.02)


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.float16, np.int32, np.uint8, np.int64]
)
def test_lower_bound(dtype):
    a = np.array([1, 2, 2, 5, 9, 9, 12], dtype)
    x = np.array([0, 1, 2, 3, 9, 12, 100], dtype)
    out = wt.zeros((len(x), 2), dtype=int, device="cpu")
    wt.launch(find, dim=len(x), inputs=[wt.from_numpy(a), wt.from_numpy(x), out], device="cpu")
    want = np.minimum(np.searchsorted(a, x), len(a) - 1)
    part = np.minimum(1 + np.searchsorted(a[1:4], x), 3)
    np.testing.assert_array_equal(out.numpy(), np.stack([want, part], 1))


def test_noise_is_zero_on_the_lattice_and_periodic():
    rng = np.random.default_rng(0)
    p = rng.uniform(-8, 8, (200, 2)).astype(np.float32)
    p[:100] = np.floor(p[:100])
    out, wave = (wt.zeros(len(p), dtype=float, device="cpu") for _ in range(2))
    points = wt.array(p, dtype=wt.vec2, device="cpu")
    wt.launch(sample_noise, dim=len(p), inputs=[points, out, wave], device="cpu")
    assert not out.numpy()[:100].any()
    assert 0.05 < np.abs(out.numpy()[100:]).mean() < 0.5
    np.testing.assert_allclose(wave.numpy(), 0, atol=2e-5)
