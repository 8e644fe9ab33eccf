# SPDX-License-Identifier: Apache-2.0
# test_run.py: runs emitted host code and compares with NumPy: indexing, batches, control flow,
# local arrays, narrow floats, atomics.
import numpy as np
import pytest

from tests.conftest import find_wt_opt
from tests.support import emitted

pytestmark = pytest.mark.skipif(find_wt_opt() is None, reason="wt_opt is not built")
RNG = np.random.default_rng(7)


def run(wir, dim, args, passes="", **kw):
    lib = emitted.load(emitted.emit(wir, "cpu", passes))
    emitted.launch(lib, "k", dim, args, **kw)


@pytest.mark.parametrize("step", [1, 2, -1])
def test_elementwise_any_stride(step):
    wir = """
kernel @k(%x: array<f32,1>, %y: array<f32,1>, %a: f32) {
  %i = tid[dim=0] : i32
  %v = load(%x, %i) : f32
  %p = mul(%v, %a) : f32
  store(%y, %p, %i)
  return()
}"""
    x = RNG.standard_normal(40).astype(np.float32)[::step]
    y = np.zeros(80, np.float32)[::step][: len(x)]
    run(wir, [len(x)], [(x, 1), (y, 1), np.float32(3)])
    np.testing.assert_array_equal(y, x * np.float32(3))


THREE = """
kernel @k(%y: array<i32,1>) {
  %i = tid[dim=0] : i32
  %j = tid[dim=1] : i32
  %k = tid[dim=2] : i32
  %c10 = const[v=10] : i32
  %c100 = const[v=100] : i32
  %n1 = const[v=4] : i32
  %n2 = const[v=5] : i32
  %a = mul(%i, %c100) : i32
  %b = mul(%j, %c10) : i32
  %ab = add(%a, %b) : i32
  %v = add(%ab, %k) : i32
  %p = mul(%i, %n1) : i32
  %q = add(%p, %j) : i32
  %r = mul(%q, %n2) : i32
  %at = add(%r, %k) : i32
  store(%y, %v, %at)
  return()
}"""


@pytest.mark.parametrize("split", [0, 1, 7, 33, 60])
def test_three_dimensions_in_ranges(split):
    y = np.full(60, -1, np.int32)
    run(THREE, [3, 4, 5], [(y, 1)], end=split)
    assert (y[split:] == -1).all()
    run(THREE, [3, 4, 5], [(y, 1)], begin=split)
    i, j, k = np.indices((3, 4, 5))
    np.testing.assert_array_equal(y.reshape(3, 4, 5), 100 * i + 10 * j + k)


def test_more_launch_dimensions_than_the_kernel_uses():
    wir = """
kernel @k(%y: array<i32,1>) {
  %i = tid[dim=0] : i32
  %one = const[v=1] : i32
  %o = atomic(%y, %one, %i)[kind=add] : i32
  return()
}"""
    y = np.zeros(3, np.int32)
    run(wir, [3, 4], [(y, 1)])
    np.testing.assert_array_equal(y, [4, 4, 4])


def test_hidden_batch_moves_the_arrays():
    wir = """
kernel @k(%x: array<vec<3,f64>,1>, %s: array<f64,1>, %y: array<f64,1>) {
  %i = tid[dim=0] : i32
  %zero = const[v=0] : i32
  %one = const[v=1] : i32
  %v = load(%x, %i) : vec<3,f64>
  %a = extract(%v, %one) : f64
  %b = load(%s, %zero) : f64
  %c = mul(%a, %b) : f64
  store(%y, %c, %i)
  return()
}"""
    x, s, y = RNG.standard_normal((4, 6, 3)), np.array([2.0]), np.zeros((4, 6))
    run(wir, [6], [(x, 1, True), (s, 1), (y, 1, True)], batch=4)
    np.testing.assert_array_equal(y, 2 * x[:, :, 1])


def test_loop_swaps_carried_values():
    wir = """
kernel @k(%y: array<i64,1>) {
  %i = tid[dim=0] : i32
  %a0 = const[v=0] : i64
  %b0 = const[v=1] : i64
  %a, %b = for(%i, %a0, %b0) : i64, i64 {(%k: i32, %p: i64, %q: i64)
    %s = add(%p, %q) : i64
    yield(%q, %s)
  }
  store(%y, %a, %i)
  return()
}"""
    y = np.zeros(10, np.int64)
    run(wir, [10], [(y, 1)])
    np.testing.assert_array_equal(y, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34])


def test_while_and_if():
    wir = """
kernel @k(%y: array<i32,1>) {
  %i = tid[dim=0] : i32
  %one = const[v=1] : i32
  %two = const[v=2] : i32
  %three = const[v=3] : i32
  %zero = const[v=0] : i32
  %n0 = add(%i, %one) : i32
  %go = ne(%n0, %one) : bool
  %f, %n, %c = while(%go, %n0, %zero) : bool, i32, i32 {(%g: bool, %x: i32, %steps: i32)
    %r = mod(%x, %two) : i32
    %even = eq(%r, %zero) : bool
    %next = if(%even) : i32 {
      %h = div(%x, %two) : i32
      yield(%h)
    } {
      %m = mul(%x, %three) : i32
      %m1 = add(%m, %one) : i32
      yield(%m1)
    }
    %s = add(%steps, %one) : i32
    %more = ne(%next, %one) : bool
    yield(%more, %next, %s)
  }
  store(%y, %c, %i)
  return()
}"""
    y = np.zeros(12, np.int32)
    run(wir, [12], [(y, 1)])
    np.testing.assert_array_equal(y, [0, 1, 7, 2, 5, 8, 16, 3, 19, 6, 14, 9])


def test_local_array_keeps_value_semantics():
    # Each step writes the array; one branch keeps the old copy alive, so it must be a copy.
    wir = """
kernel @k(%y: array<f32,1>, %n: i32) {
  %i = tid[dim=0] : i32
  %zero = const[v=0] : i32
  %one = const[v=1] : i32
  %three = const[v=3] : i32
  %f1 = const[v=1.0] : f32
  %z = zero : local<f32,4>
  %l, %old = for(%n, %z, %z) : local<f32,4>, local<f32,4> {(%k: i32, %a: local<f32,4>, %b: local<f32,4>)
    %at = bit_and(%k, %three) : i32
    %v = extract(%a, %at) : f32
    %w = add(%v, %f1) : f32
    %odd = bit_and(%k, %one) : i32
    %c = eq(%odd, %one) : bool
    %a2 = if(%c) : local<f32,4> {
      %u = insert(%a, %w, %at) : local<f32,4>
      yield(%u)
    } {
      yield(%a)
    }
    yield(%a2, %a)
  }
  %p0 = extract(%l, %one) : f32
  %p1 = extract(%old, %one) : f32
  store(%y, %p0, %zero)
  store(%y, %p1, %one)
  return()
}"""
    y = np.zeros(2, np.float32)
    run(wir, [1], [(y, 1), np.int32(6)])
    np.testing.assert_array_equal(y, [2, 1])


def test_local_insert_in_place_is_not_copied():
    wir = """
kernel @k(%y: array<f32,1>, %n: i32) {
  %i = tid[dim=0] : i32
  %f1 = const[v=1.0] : f32
  %z = zero : local<f32,64>
  %l = for(%n, %z) : local<f32,64> {(%k: i32, %a: local<f32,64>)
    %u = insert(%a, %f1, %k) : local<f32,64>
    yield(%u)
  }
  %p = extract(%l, %i) : f32
  store(%y, %p, %i)
  return()
}"""
    assert "for (i32 k = 0" not in emitted.emit(wir, "cpu")
    y = np.zeros(64, np.float32)
    run(wir, [64], [(y, 1), np.int32(10)])
    np.testing.assert_array_equal(y, np.arange(64) < 10)


def test_matrix_dynamic_index_and_insert():
    wir = """
kernel @k(%m: mat<3,3,f32>, %y: array<mat<3,3,f32>,1>) {
  %i = tid[dim=0] : i32
  %c2 = const[v=2] : i32
  %row = extract(%m, %i) : vec<3,f32>
  %m1 = insert(%m, %row, %c2) : mat<3,3,f32>
  %e = extract(%m1, %i, %i) : f32
  %m2 = insert(%m1, %e, %c2, %i) : mat<3,3,f32>
  store(%y, %m2, %i)
  return()
}"""
    m = RNG.standard_normal((3, 3)).astype(np.float32)
    y = np.zeros((3, 3, 3), np.float32)
    run(wir, [3], [m, (y, 1)])
    for i in range(3):
        want = m.copy()
        want[2] = m[i]
        want[2, i] = want[i, i]
        np.testing.assert_array_equal(y[i], want)


def test_float16_rounds_as_numpy():
    wir = """
kernel @k(%x: array<f16,1>, %y: array<f16,1>, %z: array<f16,1>) {
  %i = tid[dim=0] : i32
  %a = load(%x, %i) : f16
  %b = load(%y, %i) : f16
  %c = mul(%a, %b) : f16
  store(%z, %c, %i)
  return()
}"""
    bits = np.arange(65536, dtype=np.uint32).astype(np.uint16)
    x = bits.view(np.float16)
    for other in (1.0, 0.3335, 1e-4, 300.0):
        y = np.full(65536, other, np.float16)
        z = np.zeros(65536, np.float16)
        run(wir, [65536], [(x, 1), (y, 1), (z, 1)])
        with np.errstate(all="ignore"):
            want = x * y
        finite = ~np.isnan(want)
        np.testing.assert_array_equal(z.view(np.uint16)[finite], want.view(np.uint16)[finite])
        assert np.isnan(z[~finite]).all()


def test_bfloat16_rounds_as_torch():
    import torch

    wir = """
kernel @k(%x: array<f32,1>, %y: array<bf16,1>) {
  %i = tid[dim=0] : i32
  %a = load(%x, %i) : f32
  %b = cast(%a) : bf16
  store(%y, %b, %i)
  return()
}"""
    x = RNG.integers(0, 2**32, 20000, dtype=np.uint32).view(np.float32)
    y = np.zeros(20000, np.uint16)
    run(wir, [20000], [(x, 1), (y, 1)])
    want = torch.from_numpy(x.copy()).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    keep = ~np.isnan(x)
    np.testing.assert_array_equal(y[keep], want[keep])


@pytest.mark.parametrize("kind", ["add", "sub", "min", "max", "exch"])
@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "u64", "i8", "f16"])
def test_atomics(kind, dtype):
    wir = f"""
kernel @k(%x: array<{dtype},1>, %y: array<{dtype},1>, %old: array<{dtype},1>) {{
  %i = tid[dim=0] : i32
  %zero = const[v=0] : i32
  %v = load(%x, %i) : {dtype}
  %o = atomic(%y, %v, %zero)[kind={kind}] : {dtype}
  store(%old, %o, %i)
  return()
}}"""
    code = {"f": "float", "i": "int", "u": "uint"}[dtype[0]]
    np_type = np.dtype(code + dtype[1:])
    x = RNG.integers(0, 20, 12).astype(np_type)
    y = np.array([7], np_type)
    old = np.zeros(12, np_type)
    run(wir, [12], [(x, 1), (y, 1), (old, 1)])
    step = {
        "add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum,
        "exch": lambda a, b: b,
    }[kind]  # fmt: skip
    value, want = np_type.type(7), []
    with np.errstate(over="ignore"):
        for v in x:
            want.append(value)
            value = np_type.type(step(value, v))
    np.testing.assert_array_equal(old, np.array(want))
    assert y[0] == value


def test_views_shapes_and_null():
    wir = """
kernel @k(%x: array<f32,2>, %none: array<f32,1>, %y: array<f32,1>) {
  %i = tid[dim=0] : i32
  %row = view(%x, %i) : array<f32,1>
  %n = shape(%row)[dim=0] : i32
  %null = is_null(%none) : bool
  %f0 = const[v=0.0] : f32
  %s = for(%n, %f0) : f32 {(%k: i32, %acc: f32)
    %v = load(%row, %k) : f32
    %t = add(%acc, %v) : f32
    yield(%t)
  }
  %r = select(%null, %s, %f0) : f32
  store(%y, %r, %i)
  return()
}"""
    x = RNG.integers(0, 9, (5, 7)).astype(np.float32).T
    y = np.zeros(7, np.float32)
    run(wir, [7], [(x, 2), (None, 1), (y, 1)])
    np.testing.assert_array_equal(y, x.sum(1))
