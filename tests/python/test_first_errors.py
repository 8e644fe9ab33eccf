# SPDX-License-Identifier: Apache-2.0
# test_first_errors.py: what users do wrong first, and that the message says file, line and remedy.
import inspect
import math
import os
import subprocess
import sys
import textwrap

import pytest
import warp_torch as wp


def refusal(declare):
    """The KernelError that `declare()` raises, with the line of the file that it names."""
    with pytest.raises(wp.KernelError) as e:
        declare()
    error = e.value
    assert error.filename == __file__ and error.code.startswith("WT")
    with open(__file__) as f:
        line = f.read().splitlines()[error.lineno - 1]
    printed = str(error).splitlines()
    assert printed[0].startswith(f"{__file__}:{error.lineno}:{error.col}: error {error.code}: ")
    assert printed[1].strip() == line.strip()
    caret = printed[2].index("^") - printed[1].index(line.strip()) + line.index(line.strip())
    return error, line, line[caret:]


def missing_annotation():
    @wp.kernel
    def k(x, y: wp.array(dtype=float)):
        y[0] = x


def unknown_name():
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        value = 1.0
        y[0] = valuex


def unknown_builtin():
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = wp.clampp(y[0], 0.0, 1.0)


def makes_a_list():
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        a = [1.0, 2.0]
        y[0] = a[0]


def makes_a_dict():
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        a = {"x": 1.0}
        y[0] = a["x"]


def imports():
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        import math

        y[0] = math.sin(y[0])


class Thing:
    value = 1.0


thing = Thing()


def uses_an_object():
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = thing.method(2.0)


def mixes_types():
    @wp.kernel
    def k(y: wp.array(dtype=float), n: int):
        y[0] = y[0] * n


def comprehension():
    @wp.kernel
    def k(y: wp.array(dtype=float)):
        y[0] = sum([i for i in range(3)])


@pytest.mark.parametrize(
    "declare, at, text, remedy",
    [
        (missing_annotation, "x, y", "`x`", "annotate"),
        (unknown_name, "valuex", "valuex", "value"),
        (unknown_builtin, "wp.clampp", "clampp", "clamp"),
        (makes_a_list, "[1.0, 2.0]", "list", "vec"),
        (makes_a_dict, '{"x": 1.0}', "dict", "struct"),
        (imports, "import math", "import", "top of the module"),
        (uses_an_object, "thing", "thing", ""),
        (mixes_types, "y[0] * n", "float32, int32", "cast one"),
        (comprehension, "[i for", "comprehension", "loop"),
    ],
    ids=lambda v: v.__name__ if callable(v) else None,
)
def test_refused_at_declaration(declare, at, text, remedy):
    error, line, from_caret = refusal(declare)
    assert at in line and text in str(error)
    assert remedy in f"{error.message} {error.hint}", str(error)


def test_one_bad_kernel_spoils_no_other():
    with pytest.raises(wp.KernelError):
        unknown_name()
    y = wp.zeros(1, device="cpu")
    wp.launch(good, 1, inputs=[y])
    assert y.numpy()[0] == pytest.approx(math.sin(0.5) + math.pi)


@wp.kernel
def good(y: wp.array(dtype=float)):
    y[0] = math.sin(0.5) + math.pi


def test_math_functions_work():
    out = wp.zeros(4, dtype=wp.float64, device="cpu")
    wp.launch(math_functions, 1, inputs=[out])
    wanted = [math.sin(0.3), math.sqrt(2.0), math.exp(0.3), math.atan2(0.3, 2.0)]
    assert out.numpy().tolist() == pytest.approx(wanted, rel=1e-15)


@wp.kernel
def math_functions(out: wp.array(dtype=wp.float64)):
    a = wp.float64(0.3)
    out[0] = math.sin(a)
    out[1] = math.sqrt(wp.float64(2.0))
    out[2] = math.exp(a)
    out[3] = math.atan2(a, wp.float64(2.0))


def test_builtins_are_for_kernels():
    with pytest.raises(wp.ArgumentTypeError, match="quat_rotate.*a quaternion is wanted"):
        wp.quat_rotate(1, 2)
    with pytest.raises(wp.ArgumentTypeError, match="in kernels only"):
        wp.tid()
    with pytest.raises(AttributeError, match="did you mean 'clamp'"):
        wp.clampp  # noqa: B018


def test_a_tensor_that_needs_a_gradient():
    torch = pytest.importorskip("torch")
    t = torch.ones(3, requires_grad=True)
    y = torch.zeros(3)
    with pytest.raises(wp.GradientError, match="kernel_op"):
        wp.launch(scale, 3, inputs=[t, 2.0, y])
    with torch.no_grad():
        wp.launch(scale, 3, inputs=[t, 2.0, y])
    assert y.tolist() == [2, 2, 2]
    s = torch.tensor(2.0, requires_grad=True)
    for record in (False, True):
        with pytest.raises(wp.GradientError, match="argument 's'.*kernel_op"):
            if record:
                with wp.Tape():
                    wp.launch(scale, 3, inputs=[y, s, y])
            else:
                wp.launch(scale, 3, inputs=[y, s, y])
    wp.launch(scale, 3, inputs=[y, torch.tensor(2.0), y])
    assert y.tolist() == [4, 4, 4]


@wp.kernel
def scale(x: wp.array(dtype=float), s: float, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = s * x[i]


def alone(text, **environment):
    """Standard output of a program of its own."""
    root = os.path.dirname(os.path.dirname(wp.__file__))
    env = {**os.environ, "PYTHONPATH": root, **environment}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, env=env
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


NO_COMPILER = """
import os
import sys
sys.executable = "/nowhere/python"  # whose ziglang would serve
import warp_torch as wp
wp.config.kernel_cache_dir = {cache!r}
{option}
text = "def k(y: wp.array(dtype=float)):\\n    y[wp.tid()] = 1.5\\n"
scope = {{"wp": wp}}
exec(text, scope)
k = wp.kernel(scope["k"], source=text)
y = wp.zeros(2, device="cpu")
try:
    wp.launch(k, 2, inputs=[y], device="cpu")
except wp.DeviceError as e:
    print(e)
os.environ["PATH"] = {path!r}
wp.config.host_compiler = {compiler!r}
wp.launch(k, 2, inputs=[y], device="cpu")
print(y.numpy())
"""


def test_no_compiler_found(tmp_path):
    compiler = next(
        (
            p
            for name in ("c++", "g++")
            for d in os.environ["PATH"].split(":")
            if os.access(p := os.path.join(d, name), os.X_OK)
        ),
        None,
    )
    if compiler is None:
        pytest.skip("no C++ compiler")
    more = {"cache": str(tmp_path), "compiler": compiler, "path": os.environ["PATH"]}
    option = "wp.config.host_compiler = '/nowhere/c++'"
    out = alone(NO_COMPILER.format(option=option, **more), PATH="", CXX="")
    for text in ("found none", "/nowhere/c++", "c++ (PATH)", "Install g++", "pip install"):
        assert text in out
    assert out.splitlines()[-1] == "[1.5 1.5]"


def test_errors_have_one_base():
    for cls in (
        wp.KernelError,
        wp.ArgumentTypeError,
        wp.ArgumentValueError,
        wp.GradientError,
        wp.DeviceError,
    ):
        assert issubclass(cls, wp.Error)
    assert issubclass(wp.ArgumentTypeError, TypeError)
    assert issubclass(wp.ArgumentValueError, ValueError)
    assert issubclass(wp.GradientError, RuntimeError)
    assert inspect.getdoc(wp.KernelError)
