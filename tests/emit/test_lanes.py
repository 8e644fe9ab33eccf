# SPDX-License-Identifier: Apache-2.0
# test_lanes.py: kernels that run on vectors of threads give each thread what it would get alone.
import numpy as np
import pytest

from tests.conftest import find_wt_opt
from tests.support import emitted

pytestmark = pytest.mark.skipif(find_wt_opt() is None, reason="wt_opt is not built")
RNG = np.random.default_rng(3)

# A recursion of its own in every thread, on six numbers of which one is picked by index.
RECURSION = """
kernel @k(%x: array<vec<6,f32>,1>, %gain: f32, %y: array<vec<6,f32>,1>, %s: array<f32,1>) {{
  %i = tid[dim=0] : i32
  %v = load(%x, %i) : vec<6,f32>
  %n = const[v=6] : i32
  %zero = const[v=0.0] : f32
  %low = const[v=-0.75] : f32
  %high = const[v=0.5] : f32
  %one = const[v=1.0] : f32
  %table = make(%low, %one, %high, %gain, %one, %low) : vec<6,f32>
  %w, %total = for(%n, %v, %zero) : vec<6,f32>, f32 {{ (%j: i32, %a: vec<6,f32>, %t: f32)
    %p = extract(%a, %j) : f32
    %g = extract(%table, %j) : f32
    %q = mul(%p, %g) : f32
    %r = clamp(%q, %low, %high) : f32
    %positive = gt(%p, %t) : bool
    %below = lt(%r, %one) : bool
    %both = logical_and(%positive, %below) : bool
    %u = select(%both, %r, %gain) : f32
    %m = min(%u, %p) : f32
    %h = abs(%m) : f32
    %next = add(%t, %h) : f32
    %b = insert(%a, %next, %j) : vec<6,f32>
    yield(%b, %next)
  }}
  store(%y, %w, %i)
  %old = atomic(%s, %total, %i)[kind=add, plain=1] : f32
  return()
}}"""


def expected(x, gain):
    f = np.float32
    table = np.array([-0.75, 1.0, 0.5, gain, 1.0, -0.75], f)
    out, total = x.copy(), np.zeros(len(x), f)
    for j in range(6):
        p = out[:, j].copy()
        r = np.clip(p * table[j], f(-0.75), f(0.5))
        u = np.where((p > total) & (r < 1), r, f(gain))
        total = total + np.abs(np.minimum(u, p))
        out[:, j] = total
    return out, total


@pytest.mark.parametrize(("scalar", "dtype"), [("f32", np.float32), ("f64", np.float64)])
@pytest.mark.parametrize("count", [1, 7, 16, 37])
def test_every_thread_gets_its_own(scalar, dtype, count):
    wir = RECURSION.format().replace("f32", scalar)
    text = emitted.emit(wir, "cpu")
    assert f"wt_{scalar}v" in text.split("_run(")[1]
    x = RNG.standard_normal((count, 6)).astype(dtype)
    x[0, :3] = [np.nan, 0.0, -0.0]
    y, s = np.full_like(x, 9), np.ones(count, dtype)
    emitted.launch(emitted.load(text), "k", [count], [(x, 1), dtype(0.25), (y, 1), (s, 1)])
    if scalar == "f32":
        out, total = expected(x, 0.25)
        keep = ~np.isnan(x).any(axis=1)
        np.testing.assert_array_equal(y[keep], out[keep])
        np.testing.assert_array_equal(s[keep], 1 + total[keep])
    alone = np.full_like(x, 9)
    for i in range(count):
        one = x[i : i + 1].copy()
        row, unused = np.zeros_like(one), np.zeros(1, dtype)
        emitted.launch(emitted.load(text), "k", [1], [(one, 1), dtype(0.25), (row, 1), (unused, 1)])
        alone[i] = row[0]
    np.testing.assert_array_equal(y, alone)


@pytest.mark.parametrize("begin", [0, 3, 11])
def test_ranges_and_rows_meet_without_a_gap(begin):
    wir = """
kernel @k(%x: array<f32,2>, %y: array<f32,2>) {
  %i = tid[dim=0] : i32
  %j = tid[dim=1] : i32
  %v = load(%x, %i, %j) : f32
  %n = const[v=3] : i32
  %w = for(%n, %v) : f32 { (%k: i32, %a: f32)
    %b = sin(%a) : f32
    %c = add(%b, %a) : f32
    yield(%c)
  }
  store(%y, %w, %i, %j)
  return()
}"""
    text = emitted.emit(wir, "cpu")
    assert "wt_f32v" in text.split("_run(")[1]
    lib = emitted.load(text)
    x = RNG.standard_normal((5, 9)).astype(np.float32)
    y = np.full_like(x, 9)
    emitted.launch(lib, "k", [5, 9], [(x, 2), (y, 2)], begin=begin, end=30)
    flat = x.reshape(-1)[begin:30].astype(np.float64)
    for _ in range(3):
        flat = np.sin(flat) + flat
    got = y.reshape(-1)
    np.testing.assert_allclose(got[begin:30], flat, rtol=1e-6)
    assert (got[:begin] == 9).all() and (got[30:] == 9).all()


@pytest.mark.parametrize(
    "line",
    [
        "%z = cast(%i) : f32",  # a number of its own thread
        "%z = print(%i)",
        "%f = floordiv(%i, %n) : i32\n  %z = load(%x, %f) : f32",  # an index that is computed
    ],
)
def test_what_depends_on_the_thread_otherwise_runs_alone(line):
    line = line.replace("%z = print", "print")
    wir = f"""
kernel @k(%x: array<f32,1>, %y: array<f32,1>) {{
  %i = tid[dim=0] : i32
  %n = const[v=3] : i32
  {line}
  %v = load(%x, %i) : f32
  %w = for(%n, %v) : f32 {{ (%k: i32, %a: f32)
    %b = mul(%a, %a) : f32
    yield(%b)
  }}
  store(%y, %w, %i)
  return()
}}"""
    text = emitted.emit(wir, "cpu")
    assert "wt_f32v" not in text
    assert "wt_f32v" in emitted.emit(wir.replace(line, ""), "cpu")


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("reach", [1.0, 100.0, 1e5, 1e9])
def test_sine_and_cosine_are_within_two_units_in_the_last_place(name, reach):
    wir = f"""
kernel @k(%x: array<f32,1>, %y: array<f32,1>) {{
  %i = tid[dim=0] : i32
  %n = const[v=1] : i32
  %v = load(%x, %i) : f32
  %w = for(%n, %v) : f32 {{ (%k: i32, %a: f32)
    %b = {name}(%a) : f32
    yield(%b)
  }}
  store(%y, %w, %i)
  return()
}}"""
    text = emitted.emit(wir, "cpu")
    assert f"wt_f32{name}(" in text.split("_run(")[1]
    x = np.concatenate([RNG.uniform(-reach, reach, 4000), [0.0, -0.0, reach, -reach]])
    x = np.concatenate([x, np.arange(-60, 60) * (np.pi / 4)]).astype(np.float32)
    y = np.zeros_like(x)
    emitted.launch(emitted.load(text), "k", [len(x)], [(x, 1), (y, 1)])
    want = getattr(np, name)(x.astype(np.float64))
    assert (np.abs(y - want) <= 2 * np.spacing(np.abs(want).astype(np.float32))).all()
    wild = np.array([np.inf, -np.inf, np.nan, 1.0] * 8, np.float32)
    out = np.zeros_like(wild)
    emitted.launch(emitted.load(text), "k", [len(wild)], [(wild, 1), (out, 1)])
    assert np.isnan(out.reshape(8, 4)[:, :3]).all() and np.isfinite(out[3::4]).all()


@pytest.mark.parametrize("count", [1, 16, 37])
@pytest.mark.parametrize("step", [1, 2])
def test_elements_side_by_side_and_apart(count, step):
    wir = """
kernel @k(%x: array<vec<2,f32>,2>, %y: array<vec<2,f32>,2>, %n: i32) {
  %i = tid[dim=0] : i32
  %zero = zero() : vec<2,f32>
  %w = for(%n, %zero) : vec<2,f32> { (%k: i32, %a: vec<2,f32>)
    %v = load(%x, %k, %i) : vec<2,f32>
    %b = add(%v, %a) : vec<2,f32>
    store(%y, %b, %k, %i)
    yield(%b)
  }
  return()
}"""
    text = emitted.emit(wir, "cpu")
    body = text.split("_run(")[1]
    assert "wt_f32vload2(" in body and "wt_f32vstore2(" in body
    x = RNG.standard_normal((4, count * step, 2)).astype(np.float32)
    y = np.full_like(x, 9)
    emitted.launch(
        emitted.load(text), "k", [count], [(x[:, ::step], 2), (y[:, ::step], 2), np.int32(4)]
    )
    np.testing.assert_array_equal(y[:, ::step], np.cumsum(x[:, ::step], axis=0, dtype=np.float32))
    assert step == 1 or (y[:, 1::step] == 9).all()
