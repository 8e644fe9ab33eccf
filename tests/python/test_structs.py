# SPDX-License-Identifier: Apache-2.0
# test_structs.py: the layout of structs is that of the same struct in C++; structs as arguments.
import copy
import random
import re
import shutil
import subprocess

import numpy as np
import pytest
import torch
import warp_torch as wp

C_NAMES = {
    wp.bool: "bool",
    wp.int8: "signed char",
    wp.uint8: "unsigned char",
    wp.int16: "short",
    wp.uint16: "unsigned short",
    wp.int32: "int",
    wp.uint32: "unsigned",
    wp.int64: "long long",
    wp.uint64: "unsigned long long",
    wp.float16: "unsigned short",
    wp.bfloat16: "unsigned short",
    wp.float32: "float",
    wp.float64: "double",
}
ARRAY = """struct WtArray { char* data; long long shape[4], stride[4], batch_stride;
                                int ndim, flags; };"""


def random_field(rng, structs):
    scalar = rng.choice(list(C_NAMES))
    kind = rng.randrange(6)
    if kind == 0 and structs:
        return rng.choice(structs)
    if kind == 1:
        return wp.array(dtype=rng.choice([scalar, wp.vec3]), ndim=rng.randint(1, 4))
    if kind == 2:
        return wp.types.vector(rng.randint(1, 7), scalar)
    if kind == 3:
        return wp.types.matrix((rng.randint(1, 4), rng.randint(1, 4)), scalar)
    if kind == 4:
        return rng.choice([wp.quat, wp.quatd, wp.transform, wp.transformd, wp.quath])
    return scalar


def c_field(name, t):
    if t in C_NAMES:
        return f"{C_NAMES[t]} {name};"
    if getattr(t, "wt_kind", "") == "array":
        return f"WtArray {name};"
    if getattr(t, "wt_kind", "") == "struct":
        return f"{t.__name__} {name};"
    return f"{C_NAMES[t.dtype]} {name}[{int(np.prod(t.shape))}];"


def test_layout_is_that_of_the_compiler(tmp_path):
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    seed = random.SystemRandom().randrange(1 << 30)
    rng = random.Random(seed)
    structs, text, asked = [], ["#include <cstdio>", "#include <cstddef>", ARRAY], []
    for n in range(60):
        fields = {f"f{i}": random_field(rng, structs[-8:]) for i in range(rng.randint(1, 9))}
        s = wp.struct(type(f"Random{seed}_{n}", (), {"__annotations__": fields}))
        structs.append(s)
        body = " ".join(c_field(name, t) for name, t in fields.items())
        text.append(f"struct {s.__name__} {{ {body} }};")
        asked += [f"offsetof({s.__name__}, {name})" for name in fields] + [f"sizeof({s.__name__})"]
    prints = " ".join(f'printf("%zu\\n", {a});' for a in asked)
    source = tmp_path / "layout.cpp"
    source.write_text("\n".join(text) + f"\nint main() {{ {prints} }}\n")
    program = tmp_path / "layout"
    subprocess.run([compiler, "-w", str(source), "-o", str(program)], check=True)
    printed = iter(subprocess.run([str(program)], capture_output=True, text=True).stdout.split())
    for s in structs:
        element = wp.array(shape=1, dtype=s, device="cpu")
        offsets = [s.np_dtype.fields[name][1] for name in s.fields]
        wanted = [int(next(printed)) for _ in s.fields]
        size = int(next(printed))
        assert (offsets, s.np_dtype.itemsize) == (wanted, size), f"seed {seed}: {s.fields}"
        assert element.item_bytes == size, f"seed {seed}: the compiler's size of {s.fields}"


@wp.struct
class Inner:
    a: wp.float64
    flag: bool
    v: wp.vec3h


@wp.struct
class Outer:
    n: wp.int8
    inner: Inner
    data: wp.array2d(dtype=float)
    m: wp.mat22d
    q: wp.quat
    small: wp.uint16
    more: wp.array(dtype=wp.vec2i)


@wp.kernel
def read_everything(s: Outer, out: wp.array(dtype=wp.float64)):
    i = wp.tid()
    if s.inner.flag:
        out[0] = wp.float64(s.n)
        out[1] = s.inner.a
        out[2] = wp.float64(s.inner.v[2])
        out[3] = wp.float64(s.data[1, 2])
        out[4] = s.m[1, 0]
        out[5] = wp.float64(s.q[3])
        out[6] = wp.float64(s.small)
        out[7] = wp.float64(s.more[1][1])


@wp.kernel
def write_arrays(s: Outer):
    i = wp.tid()
    s.data[i, i] = 5.0
    s.more[i] = wp.vec2i(i, 2 * i)


@wp.kernel
def step_structs(s: wp.array(dtype=Inner)):
    i = wp.tid()
    t = s[i]
    t.a = t.a * wp.float64(2.0)
    t.flag = not t.flag
    t.v = t.v + wp.vec3h(wp.float16(1.0), wp.float16(2.0), wp.float16(3.0))
    s[i] = t
    s[i].a += wp.float64(1.0)


def outer():
    s = Outer()
    s.n, s.small = -3, 65535
    s.inner = Inner(a=0.25, flag=True, v=wp.vec3h(1, 2, 3.5))
    s.data = wp.array(np.arange(6.0).reshape(2, 3), dtype=float, device="cpu")
    s.m = wp.mat22d(1, 2, 3, 4)
    s.q = wp.quat(0, 0, 0, 1)
    s.more = wp.array([[1, 2], [3, 4]], dtype=wp.vec2i, device="cpu")
    return s


def test_a_struct_as_argument():
    out = wp.zeros(8, dtype=wp.float64, device="cpu")
    wp.launch(read_everything, 1, inputs=[outer(), out])
    assert out.numpy().tolist() == [-3, 0.25, 3.5, 5, 3, 1, 65535, 4]
    s = outer()
    wp.launch(write_arrays, 2, inputs=[s])
    assert s.data.numpy().tolist() == [[5, 1, 2], [3, 5, 5]]
    assert s.more.numpy().tolist() == [[0, 0], [1, 2]]


def test_structs_in_an_array():
    a = wp.array([Inner(a=1.5, flag=True, v=wp.vec3h(0, 0, 0)), Inner()], dtype=Inner, device="cpu")
    wp.launch(step_structs, 2, inputs=[a])
    first, second = a.list()
    assert first == Inner(a=4.0, flag=False, v=wp.vec3h(1, 2, 3))
    assert second == Inner(a=1.0, flag=True, v=wp.vec3h(1, 2, 3))


def test_an_unset_array_in_a_struct_is_an_empty_one():
    s = outer()
    s.more = None
    out = wp.zeros(1, dtype=int, device="cpu")
    wp.launch(length_of_more, 1, inputs=[s, out])
    assert out.numpy()[0] == 0


@wp.struct
class Place:
    at: wp.vec3
    n: int
    cells: wp.array(dtype=int)


@wp.kernel
def length_of_more(s: Outer, out: wp.array(dtype=int)):
    out[0] = s.more.shape[0]


@pytest.mark.parametrize(
    "change, error, text",
    [
        (
            lambda s: setattr(s, "data", torch.zeros(3)),
            wp.ArgumentValueError,
            "s.data.*1 dimension, wanted 2",
        ),
        (lambda s: s.data.free(), wp.ArgumentValueError, "s.data.*freed"),
    ],
)
def test_wrong_arrays_in_structs(change, error, text):
    s = outer()
    change(s)
    with pytest.raises(error, match=text.replace("s.", r"'s'\.", 1)):
        wp.launch(read_everything, 1, inputs=[s, wp.zeros(8, dtype=wp.float64, device="cpu")])


@pytest.mark.parametrize(
    "name, value, got",
    [
        ("data", lambda: wp.zeros(3, device="cpu"), "one of 1 dimensions of float32"),
        ("more", lambda: wp.zeros(3, device="cpu"), "one of 1 dimensions of float32"),
        ("more", lambda: [1, 2], "list"),
    ],
)
def test_wrong_arrays_are_refused_by_the_field(name, value, got):
    s = outer()
    with pytest.raises(wp.ArgumentTypeError, match=rf"Outer.{name} wants array.*got {got}"):
        setattr(s, name, value())
    assert isinstance(s.data, wp.array)


def test_fields_have_values_of_their_own():
    part, v = Inner(a=1.0), wp.vec3(1.0, 2.0, 3.0)
    s = Outer(inner=part)
    part.a = 5.0
    assert s.inner.a == 1.0
    s.inner.a = 2.0
    assert part.a == 5.0 and copy.copy(s).inner is not s.inner
    other = Place(at=v)
    v[0] = 9.0
    other.at[1] = 7.0
    assert other.at == wp.vec3(1.0, 7.0, 3.0)
    assert copy.copy(other).at is not other.at


def test_whole_numbers_and_empty_arrays_in_fields():
    s = Place()
    with pytest.raises(wp.ArgumentTypeError, match="Place.n wants int32, got 2.5"):
        s.n = 2.5
    s.n = np.int64(3)
    s.cells = wp.array(dtype=int)
    assert s.n == 3 and s.cells.shape == (0,) and Place.key == "Place"


def test_wrong_fields():
    with pytest.raises(AttributeError, match="did you mean 'inner'"):
        Outer().iner = 3
    with pytest.raises(wp.ArgumentTypeError, match=re.escape("Inner.a wants float64")):
        Inner(a="x")
    with pytest.raises(wp.ArgumentTypeError, match="wanted a value of type Inner"):
        wp.launch(take_inner, 1, inputs=[3.0])
    with pytest.raises(wp.ArgumentTypeError, match="wanted a value of type Inner"):
        wp.launch(take_inner, 1, inputs=[Other()])


@wp.kernel
def take_inner(s: Inner):
    i = wp.tid()


@wp.struct
class Other:
    a: wp.float64
    flag: bool
    v: wp.vec3h


def test_messages_name_structs_as_their_authors_did():
    def made(kind):
        @wp.struct
        class Twin:
            x: kind

        return Twin

    made(float)
    other = made(wp.vec3)
    assert other.struct_name != "Twin"
    with pytest.raises(wp.KernelError, match="Twin has no attribute `y`"):

        @wp.kernel
        def k(t: other, o: wp.array(dtype=float)):
            o[0] = t.y
