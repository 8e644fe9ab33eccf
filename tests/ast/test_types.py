# SPDX-License-Identifier: Apache-2.0
# test_types.py: host types: rounding, arithmetic against NumPy, names in the IR, struct layout
# against the C compiler.
import copy
import ctypes
import pickle

import numpy as np
import pytest
from warp_torch import types as t
from warp_torch.errors import ArgumentTypeError, ArgumentValueError


@pytest.mark.parametrize(
    "type_, text, name",
    [
        (float, "f32", "float32"),
        (int, "i32", "int32"),
        (bool, "bool", "bool"),
        (t.uint8, "u8", "uint8"),
        (np.float64, "f64", "float64"),
        (np.dtype("int16"), "i16", "int16"),
        (t.bfloat16, "bf16", "bfloat16"),
        (t.vec3, "vec<3,f32>", "vec3f"),
        (t.vec2ub, "vec<2,u8>", "vec2ub"),
        (t.mat33d, "mat<3,3,f64>", "mat33d"),
        (t.matrix((2, 5), t.float16), "mat<2,5,f16>", "mat25h"),
        (t.quath, "quat<f16>", "quath"),
        (t.transform, "xform<f32>", "transformf"),
        (t.spatial_vectord, "vec<6,f64>", "vec6d"),
        (t.array2d[t.vec3], "array<vec<3,f32>,2>", "array(dtype=vec3f, ndim=2)"),
        (t.array_annotation(), "array<Any,1>", "array(dtype=Any, ndim=1)"),
        (t.vector(t.Any, t.Float), "vec<Any,Float>", "vecAny_any"),
    ],
)
def test_text_and_name(type_, text, name):
    assert t.type_text(type_) == text
    assert t.type_name(t.canonical(type_)) == name


@pytest.mark.parametrize("bad", [list, object, "float", 3, None, complex])
def test_no_type(bad):
    assert not t.is_type(bad)
    with pytest.raises(ArgumentTypeError):
        t.type_text(bad)


def test_generic():
    assert t.is_generic(t.array1d(t.Any)) and t.is_generic(t.Scalar)
    assert not t.is_generic(t.array1d(float))
    assert t.vector(3, float) is t.vec3 is t.vec3f
    with pytest.raises(ArgumentValueError):
        t.array_annotation(float, 5)


def test_scalars_round_and_wrap():
    assert t.float16(0.1).value == float(np.float16(0.1))
    assert t.float32(0.1) + 1.0 == float(np.float32(np.float32(0.1) + np.float32(1.0)))
    assert t.bfloat16(1.1).value == 1.1015625  # 1 + 13/128
    assert t.uint8(300).value == 44 and t.int8(200).value == -56
    assert t.int32(-7) / 2 == -3 and t.int32(7) % 4 == 3
    assert 2.0 * t.float64(0.1) == 0.2 and -t.int16(5) == -5
    assert [10, 20][t.int32(1)] == 20
    with pytest.raises(ArgumentTypeError, match="cast one"):
        t.float32(1) + t.float64(1)
    assert pickle.loads(pickle.dumps(t.float16(3))) == 3


@pytest.mark.parametrize("dtype", [t.float32, t.float64])
def test_vectors_like_numpy(dtype):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 4)).astype(dtype.np_dtype)
    m, n = rng.standard_normal((2, 4, 4)).astype(dtype.np_dtype)
    vec, mat = t.vector(4, dtype), t.matrix((4, 4), dtype)
    va, vb, mm, mn = vec(*a), vec(b), mat(*m.ravel()), mat(n)
    s = dtype.np_dtype.type(2)
    for got, wanted in [
        (va + vb, a + b), (va - vb, a - b), (va * 2, a * s), (2 * va, a * s), (va / 2, a / s),
        (-va, -a), (mm @ va, m @ a), (mm * mn, m @ n), (va * mm, a @ m), (mm + mn, m + n),
        (va[1:3], a[1:3]), (mm[1], m[1]), (mm[1, 2], m[1, 2]), (va.zyx, a[[2, 1, 0]]),
    ]:  # fmt: skip
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-6)
    assert va == vec(a) and va != vb and va == tuple(a) and len(va) == 4 and list(va) == list(a)
    assert copy.deepcopy(va) == va and pickle.loads(pickle.dumps(mm)) == mm
    va.x = 5
    assert va[0] == 5
    with pytest.raises(ArgumentValueError, match="takes 4 numbers"):
        vec(1, 2, 3)
    with pytest.raises(AttributeError):
        t.vec2(1, 2).z  # noqa: B018


def rotation(q):
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_quaternions_and_transforms():
    rng = np.random.default_rng(4)
    a, b = (v / np.linalg.norm(v) for v in rng.standard_normal((2, 4)))
    qa, qb = t.quatd(*a), t.quatd(*b)
    np.testing.assert_allclose(rotation(qa * qb), rotation(a) @ rotation(b), atol=1e-14)
    v = rng.standard_normal(3)
    np.testing.assert_allclose(qa.rotate(v), rotation(a) @ v, atol=1e-14)
    x, y = t.transformd(v, qa), t.transformd(p=(1, 2, 3), q=qb)
    both = x * y
    np.testing.assert_allclose(both.p, v + rotation(a) @ [1, 2, 3], atol=1e-14)
    assert both.q == qa * qb and t.transform() == (0, 0, 0, 0, 0, 0, 1)


@t.struct
class Inner:
    flag: t.uint8
    v: t.vec3d
    h: t.float16 = 0.5


@t.struct
class Outer:
    a: int = 7
    inner: Inner
    m: t.mat22
    data: t.array_annotation(float)
    b: t.bfloat16


class CInside(ctypes.Structure):
    _fields_ = [("flag", ctypes.c_uint8), ("v", ctypes.c_double * 3), ("h", ctypes.c_uint16)]


class CArray(ctypes.Structure):
    _fields_ = [("words", ctypes.c_int64 * 10), ("ndim", ctypes.c_int32), ("flags", ctypes.c_int32)]


class CHolder(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int32), ("inner", CInside), ("m", ctypes.c_float * 4),
                ("data", CArray), ("b", ctypes.c_uint16)]  # fmt: skip


def test_struct_layout_and_values():
    assert Outer.np_dtype.itemsize == ctypes.sizeof(CHolder)
    for name, _ in CHolder._fields_:
        assert Outer.np_dtype.fields[name][1] == getattr(CHolder, name).offset
    x = Outer(m=t.mat22(1, 2, 3, 4), b=1.1)
    x.inner.v = (1, 2, 3)
    raw = CHolder.from_buffer_copy(t.struct_bytes(x))
    assert raw.a == 7 and list(raw.m) == [1, 2, 3, 4] and list(raw.inner.v) == [1, 2, 3]
    assert raw.inner.h == np.float16(0.5).view(np.uint16) and raw.b == 0x3F8D
    assert t.struct_from_bytes(Outer, t.struct_bytes(x)) == x
    with pytest.raises(AttributeError, match="did you mean 'inner'"):
        x.iner = 1
    with pytest.raises(ArgumentTypeError, match="Outer.m wants mat22f"):
        x.m = "no"


def test_two_structs_of_one_name_differ():
    def make(dtype):
        @t.struct
        class Inner:
            x: dtype

        return Inner

    a, b, c = make(t.float32), make(t.float64), make(t.float64)
    assert a.text != b.text == c.text
