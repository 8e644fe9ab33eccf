# SPDX-License-Identifier: Apache-2.0
# emitted.py: compiles IR text through wt_opt and the host compiler, and calls its kernels on NumPy
# arrays with the argument block of csrc/codegen/emit/abi.h.
import ctypes
import functools
import hashlib
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

import numpy as np

FLAGS = [
    "-O1", "-std=c++17", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
    "-shared", "-fPIC", "-w",
]  # fmt: skip


def emit(wir: str, dialect: str, passes: str = "") -> str:
    from tests.conftest import find_wt_opt

    command = [find_wt_opt(), f"--passes={passes}", f"--emit={dialect}"]
    done = subprocess.run(command, input=wir, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


@functools.cache
def _folder() -> pathlib.Path:
    return pathlib.Path(tempfile.mkdtemp(prefix="wt_emitted_"))


@functools.cache
def load(text: str, flags: tuple[str, ...] = ()) -> ctypes.CDLL:
    """The shared object of emitted host code."""
    stem = _folder() / hashlib.sha256(repr((text, flags)).encode()).hexdigest()[:16]
    stem.with_suffix(".cpp").write_text(text)
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    command = [compiler, *FLAGS, *flags, str(stem) + ".cpp", "-o", str(stem) + ".so"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(done.stderr[:6000])
    return ctypes.CDLL(str(stem) + ".so")


def array_header(a: np.ndarray | None, ndim: int, batched: bool = False) -> bytes:
    """WtArray of the first `ndim` dimensions; later ones are inside an element. With `batched`,
    dimension 0 is the hidden batch."""
    if a is None:
        return struct.pack("<Q4q4qqii", 0, *[0] * 4, *[0] * 4, 0, ndim, 0)
    first = 1 if batched else 0
    shape = list(a.shape[first : first + ndim]) + [1] * (4 - ndim)
    stride = list(a.strides[first : first + ndim]) + [0] * (4 - ndim)
    batch_stride = a.strides[0] if batched else 0
    return struct.pack("<Q4q4qqii", a.ctypes.data, *shape, *stride, batch_stride, ndim, 0)


def block(dim, args, batch: int = 1, lanes: int = 1) -> bytes:
    """`args`: (array, ndim) or (array, ndim, batched) for arrays, NumPy scalars and arrays for
    values passed as they are."""
    dims = list(dim) + [1] * (4 - len(dim))
    out = struct.pack("<7q", *dims, int(np.prod(dims)), batch, lanes)
    for arg in args:
        if isinstance(arg, tuple):
            align, data = 8, array_header(*arg)
        else:
            arg = np.asarray(arg)
            align, data = arg.dtype.itemsize, arg.tobytes()
        out += b"\0" * (-len(out) % align) + data
    return out + b"\0" * (-len(out) % 8)


def launch(lib: ctypes.CDLL, name: str, dim, args, batch: int = 1, begin: int = 0, end=None):
    data = block(dim, args, batch)
    size = int(np.prod(dim)) * batch
    function = getattr(lib, name)
    function.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64]
    function.restype = None
    function(data, begin, size if end is None else end, 0)
