# SPDX-License-Identifier: Apache-2.0
# test_python_frontend.py: what the front end writes for Python functions, wherever they come from.
import enum
import linecache
import math
import re
import subprocess
import sys

import numpy as np
import pytest
from warp_torch import frontend
from warp_torch.errors import KernelError
from warp_torch.scope import SPECIAL_BUILTINS

from tests.support import language
from tests.support.language import wp


def text(function, **options):
    return frontend.write_unit(function, **options).text


def body(function, **options):
    """The statements of the kernel, without places."""
    whole = re.sub(r" @\d+:\d+:\d+", "", text(function, **options))
    return whole[whole.index("\n  (kernel ") :]


class Color(enum.IntEnum):
    RED = 3


class Config:
    gravity = wp.vec3(0.0, -9.5, 0.0)


SCALE = 0.25
HALF = wp.float16(0.1)
SINGLE = np.float32(1.5)


def test_captured_values_are_literals():
    inside = 7

    def k(x: wp.array(dtype=float)):
        x[inside] = SCALE + HALF + SINGLE
        x[Color.RED] = Config.gravity[1] * math.pi * -2

    b = body(k)
    assert "(int 7)" in b and "(float 0.25)" in b and "(int 3)" in b and "(int -2)" in b
    assert "(const f16 (float 0.0999755859375))" in b and "(const f32 (float 1.5))" in b
    assert "(const vec<3,f32> (float 0.0) (float -9.5) (float 0.0))" in b
    assert f"(float {math.pi!r})" in b
    inside = 8
    assert "(int 8)" in body(k)


def test_functions_structs_and_ids():
    def make(factor):
        @wp.func
        def scale(v: float):
            return v * factor

        return scale

    one, two = make(1.0), make(2.0)

    @wp.struct
    class Twin:
        a: float = 3.0
        b: wp.vec2

    @wp.struct
    class Holder:
        p: Twin

    def k(x: wp.array(dtype=Holder), n: int = 4):
        x[0].p.a = one(two(one(1.0)))

    source = frontend.write_unit(k)
    assert source.entry == "k" and [p.text for p in source.params] == [
        "array<struct<Holder>,1>",
        "i32",
    ]
    assert source.params[1].default == 4
    plain = re.sub(r" @\d+:\d+:\d+", "", source.text)
    assert "(func scale " in plain and "(func scale_2 " in plain and plain.count("(func scale") == 5
    assert plain.index("(struct Twin") < plain.index("(struct Holder")
    assert "(field a f32 (const f32 (float 3.0)))" in plain


def test_places_are_columns_of_characters():
    def k(x: wp.array(dtype=float)):
        print("é", x[0])

    line = k.__code__.co_firstlineno + 1
    assert f"(str @{line}:15:18 é) (index @{line}:20:24" in text(k)


def test_source_of_text_and_of_exec():
    f = frontend.function_from_source("def k(x: float):\n    y = x + nothing\n", {})
    with pytest.raises(KernelError, match="<warp_torch source") as e:
        frontend.write_unit(f)
    assert (e.value.lineno, e.value.col) == (2, 13) and "y = x + nothing" in str(e.value)
    code = "def g(x: float):\n    x = 2.0\n"
    linecache.cache["<cell 5>"] = (len(code), None, code.splitlines(True), "<cell 5>")
    names = {}
    exec(compile(code, "<cell 5>", "exec"), names)
    assert "2.0)" in text(names["g"])


def test_source_from_standard_input(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from warp_torch import frontend\n"
        "def k(x: float):\n    x = 123.0\n"
        "print(frontend.write_unit(k).text)\n"
    )
    with script.open() as stdin:
        done = subprocess.run([sys.executable, "-"], stdin=stdin, capture_output=True, text=True)
    assert "123.0)" in done.stdout, done.stderr


def test_annotations_as_text():
    names = {"wp": wp}
    f = frontend.function_from_source(
        "from __future__ import annotations\n"
        "def k(x: wp.array(dtype=D), n: 'int') -> None:\n    pass\n",
        names,
    )
    source = frontend.write_unit(f, namespace={"D": wp.float64})
    assert [p.text for p in source.params] == ["array<f64,1>", "i32"]


def test_static_and_type_makers():
    size = 3

    def k(x: wp.array(dtype=float)):
        t = wp.zeros(shape=[size, 2], dtype=wp.types.vector(length=size, dtype=float))
        v = wp.types.vector(length=size, dtype=float)(1.0)
        x[wp.static(size * 2 + len("ab"))] = 1.0

    b = body(k)
    assert "(kw shape (tuple (int 3) (int 2))) (kw dtype (type vec<3,f32>))" in b
    assert "(call (type vec<3,f32>) (float 1.0))" in b and "(int 8)" in b


def test_python_and_numpy_functions_are_builtins():
    def k(x: wp.array(dtype=float)):
        x[0] = math.sin(np.arctan2(abs(x[1]), np.maximum(x[2], math.fabs(x[3]))))
        x[1] = float(np.float32(2.0))

    b = body(k)
    for name in ("sin", "atan2", "abs", "max"):
        assert f"(builtin {name})" in b
    assert "(call (type f32) (call (type f32) (float 2.0)))" in b


def test_lambda_and_nested_function():
    def k(x: wp.array(dtype=float)):
        f = lambda v: v + x[0]  # noqa: E731
        x[1] = f(2.0)

    whole = re.sub(r" @\d+:\d+:\d+", "", text(k))
    assert "(attr inline 1)" in whole and "(assign (name f) (lambda lambda_inner))" in whole


def test_options():
    def k(x: float):
        pass

    assert "(option python_mod 1)" in text(k, options={"python_mod": True, "max_unroll": 3})


@pytest.mark.skipif(language.find_wt_lower() is None, reason="wt_lower is not built")
def test_text_is_canonical():
    """What Python writes is what the C++ printer writes."""
    import inspect

    from tests.lower import test_meaning

    functions = [v for v in vars(test_meaning).values() if inspect.isfunction(v)]
    kernels = [p.values[0] for p in test_meaning.KERNELS]
    assert kernels and set(kernels) <= set(functions)
    for function in kernels:
        source = frontend.write_unit(function)
        done = subprocess.run(
            [language.find_wt_lower(), "--print"], input=source.text, capture_output=True, text=True
        )
        assert done.stdout == source.text, done.stderr


@pytest.mark.skipif(language.find_wt_lower() is None, reason="wt_lower is not built")
@pytest.mark.parametrize("name", sorted(SPECIAL_BUILTINS - {"static", "print", "printf"}))
def test_special_builtins_are_known(name):
    unit = f"(unit (kernel k f (do (expr (call (builtin {name}) (kw no (int 1)))))))"
    try:
        language.lower_text(unit, "k")
    except language.Refused as refused:
        assert "WT105" not in str(refused)
