# SPDX-License-Identifier: Apache-2.0
# test_cuda_text.py: NVRTC accepts the CUDA text of every row. No GPU needed.
import ctypes
import glob
import importlib.util
import re

import pytest

from tests.builtins import rows
from tests.support import emitted

CHOICES = {
    "f32": dict(F="f32", S="f32", I="i32", B="bool", T="f32", N=3, M=2, K=4, P=5, only="value"),
    "f64": dict(F="f64", S="i64", I="u64", B="bool", T="f64", N=2, M=2, K=2, P=5, only="value"),
    "f16": dict(F="f16", S="bf16", I="i8", B="bool", T="f16", N=2, M=2, K=2, P=5, only="value"),
}
ARCHITECTURES = ["sm_80", "sm_90", "sm_100"]
ATOMICS = """
kernel @k{n}(%x: array<{t},1>, %y: array<{t},1>) {{
  %i = tid[dim=0] : i32
  %z = const[v=0] : i32
  %v = load(%x, %i) : {t}
  %o = atomic(%y, %v, %z)[kind={kind}] : {t}
  store(%x, %o, %i)
  return()
}}"""


def find_nvrtc():
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations if spec else []:
        for path in sorted(glob.glob(f"{folder}/*/lib/libnvrtc.so*")):
            return ctypes.CDLL(path)
    return None


NVRTC = find_nvrtc()
pytestmark = [
    pytest.mark.skipif(NVRTC is None, reason="NVRTC is not installed"),
    pytest.mark.skipif(rows.find_tool() is None, reason="wt_row_kernels is not built"),
]


def compile_cubin(text: str, arch: str) -> bytes:
    program = ctypes.c_void_p()
    assert NVRTC.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"k", 0, None, None) == 0
    # Whether it compiles is asked, not how fast it runs: --Ofast-compile takes a tenth of the time.
    options = [f"--gpu-architecture={arch}", "--std=c++17", "--fmad=false", "-default-device",
               "--Ofast-compile=max"]  # fmt: skip
    array = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    status = NVRTC.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    NVRTC.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    NVRTC.nvrtcGetProgramLog(program, log)
    assert status == 0, log.value.decode()[:4000]
    assert not log.value.strip(), log.value.decode()[:4000]
    NVRTC.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    NVRTC.nvrtcGetCUBIN(program, cubin)
    return cubin.raw


def parts(text: str) -> list[str]:
    """The text in pieces of a few dozen kernels, each with the prelude: one whole takes minutes."""
    prelude, *kernels = re.split(r"(?m)^(?=struct \w+_args \{)", text)
    return [prelude + "".join(kernels[i : i + 40]) for i in range(0, len(kernels), 40)]


@pytest.mark.parametrize(
    ("choice", "arch"), [*(("f32", a) for a in ARCHITECTURES), ("f64", "sm_90"), ("f16", "sm_90")]
)
def test_every_row_compiles(choice, arch):
    table = rows.table(**CHOICES[choice])
    cubins = b"".join(compile_cubin(part, arch) for part in parts(table["cuda"]))
    for row in table["rows"]:
        assert row["kernel"].encode() in cubins


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_atomics_compile(arch):
    floats = [(t, k) for t in ("f32", "f64", "f16", "bf16", "vec<3,f32>")
              for k in ("add", "sub", "min", "max", "exch")]  # fmt: skip
    ints = [(t, k) for t in ("i8", "u16", "i32", "u64", "i64")
            for k in ("add", "min", "and", "or", "xor", "exch")]  # fmt: skip
    wir = "\n".join(ATOMICS.format(n=n, t=t, kind=k) for n, (t, k) in enumerate([*floats, *ints]))
    assert compile_cubin(emitted.emit(wir, "cuda"), arch)


def test_elements_of_many_sizes_fit_shared_memory():
    names = ["transformation", "transform_wrench", "spatial_vector"]
    types = [f"{k}={v}" for k, v in CHOICES["f32"].items()]
    assert compile_cubin(rows.table_of([*types, *names])["cuda"], ARCHITECTURES[0])
