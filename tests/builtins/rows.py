# SPDX-License-Identifier: Apache-2.0
# rows.py: the builtin table as seen by the tests: kernels of every row, samples of its domain.
import functools
import json
import os
import pathlib
import re
import subprocess

import numpy as np

from tests.conftest import ROOT
from tests.support import emitted

NUMPY = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16, "bool": np.bool_,
    "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32,
    "u32": np.uint32, "i64": np.int64, "u64": np.uint64,
}  # fmt: skip


def find_tool() -> str | None:
    for folder in [os.environ.get("WT_BUILD_DIR"), ROOT / "build", ROOT / "build-dev"]:
        path = folder and pathlib.Path(folder) / "bin" / "wt_row_kernels"
        if path and os.access(path, os.X_OK):
            return str(path)
    return None


@functools.cache
def table(**types) -> dict:
    """Rows, and C++ text, with the variables of the signatures bound: table(F="f64", N=3)."""
    return table_of([f"{k}={v}" for k, v in types.items()])


def table_of(arguments: list[str]) -> dict:
    """The same of the rows of some names only: table_of(["F=f64", "N=3", "svd3"])."""
    tool = find_tool()
    if tool is None:
        return {"rows": [], "cpu": "", "cuda": ""}
    command = [tool, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


DOUBLE = dict(F="f64", S="f64", I="i32", B="bool", T="f64", N=3, M=2, K=4, P=5)


def shape_and_dtype(type_: str) -> tuple[tuple[int, ...], type]:
    """ "mat<2,3,f64>" is ((2, 3), float64)."""
    m = re.fullmatch(r"(\w+)(?:<(.*)>)?", type_)
    if not m[2]:
        return (), NUMPY[m[1]]
    *sizes, scalar = m[2].split(",")
    shape = {"quat": (4,), "xform": (7,)}.get(m[1]) or tuple(int(s) for s in sizes)
    return shape, NUMPY[scalar]


def ranges(row: dict) -> dict[str, tuple[float, float]]:
    """The domain column as one range a parameter."""
    out = {}
    for part in filter(None, row["domain"].split(";")):
        names, _, text = part.rpartition(":")
        low, high = text.split("..")
        for name in [names.strip()] if names else row["params"]:
            out[name] = (float(low), float(high))
    return out


def sample(row: dict, n: int, seed: int) -> list[np.ndarray]:
    """n samples of every operand inside the row's domain; quaternions have unit length."""
    rng = np.random.default_rng(seed)
    limits = ranges(row)
    out = []
    for name, type_ in zip(row["params"], row["operands"], strict=True):
        shape, dtype = shape_and_dtype(type_)
        low, high = limits.get(name, (-1.0, 1.0))
        if dtype is np.bool_:
            x = rng.integers(0, 2, (n, *shape)).astype(dtype)
        elif np.issubdtype(dtype, np.integer):
            x = rng.integers(int(low), int(high) + 1, (n, *shape)).astype(dtype)
        else:
            x = rng.uniform(low, high, (n, *shape)).astype(dtype)
            if type_.startswith(("quat", "xform")):
                x[..., -4:] /= np.linalg.norm(x[..., -4:], axis=-1, keepdims=True)
        out.append(x)
    return well_posed(row["name"], out)


# Far from singular matrices and from equal singular values or eigenvalues, so that rounding and the
# steps of finite differences do not decide.
DIAGONAL = {
    "determinant": 4, "inverse": 4, "inverse_approx": 3, "solve": 3, "cholesky_solve": 3,
    "_cofactors": 1, "qr3": 3, "eig3": None, "eig": None, "svd": None, "svd2": None, "svd3": None,
}  # fmt: skip


EULER = np.array([(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1), (2, 0, 2), (0, 1, 0), (1, 0, 1)])


def well_posed(name: str, operands: list[np.ndarray]) -> list[np.ndarray]:
    if not operands:
        return operands
    a = operands[0]
    if name in ("cholesky", "ldlt"):
        a[:] = a @ np.swapaxes(a, 1, 2) + 2 * np.eye(a.shape[1])
    elif name in DIAGONAL:
        scale = DIAGONAL[name] or 3.0 * np.arange(a.shape[1], 0, -1)
        a += (scale * np.eye(a.shape[1])).astype(a.dtype)
    elif name == "_gaps":
        a += (3 * np.arange(a.shape[1])).astype(a.dtype)
    elif name == "quat_to_euler":
        for axis, choice in zip(operands[1:], EULER[np.arange(len(a)) % len(EULER)].T, strict=True):
            axis[:] = choice
    elif name == "poisson":
        operands[1] %= 10  # What is beyond is another algorithm.
    return operands


def empty(types: list[str], n: int) -> list[np.ndarray]:
    return [np.zeros((n, *s), d) for s, d in map(shape_and_dtype, types)]


def call(lib, kernel: str, inputs: list[np.ndarray], results: list[str]) -> list[np.ndarray]:
    n = len(inputs[0]) if inputs else 1
    outputs = empty(results, n)
    emitted.launch(lib, kernel, [n], [(a, 1) for a in [*inputs, *outputs]])
    return outputs


def is_float(a: np.ndarray) -> bool:
    return np.issubdtype(a.dtype, np.floating)


def _launch(lib, row: dict, suffix: str, inputs: list, written: list, tail: list) -> list:
    n = len(inputs[0]) if inputs else 1
    arrays = [*[a.copy() for a in inputs], *written, *tail]
    emitted.launch(lib, row["kernel"] + suffix, [n], [(a, 1) for a in arrays])
    return written


def vjp(lib, row: dict, operands: list, d: list) -> list[np.ndarray]:
    """The cotangents of the operands."""
    n = len(operands[0]) if operands else 1
    tail = empty(row["results"], n) if row["expands"] else []
    return _launch(lib, row, "_vjp", [*operands, *d], empty(row["operands"], n), tail)


def jvp(lib, row: dict, operands: list, t: list) -> list[np.ndarray]:
    """The tangents of the results."""
    n = len(operands[0]) if operands else 1
    tail = empty(row["results"], n) if row["expands"] else []
    return _launch(lib, row, "_jvp", [*operands, *t], empty(row["results"], n), tail)


def hvp(lib, row: dict, operands: list, d: list, t: list) -> list[np.ndarray]:
    """The derivative of vjp(operands, d) in the direction t of the operands, by operand."""
    n = len(operands[0])
    made = empty(row["operands"], n)
    floats = [is_float(a) for a in operands]
    written = [a for a, f in zip(empty(row["operands"], n), floats, strict=True) if f]
    tangents = [a for a, f in zip(t, floats, strict=True) if f]
    tail = [*made, *(empty(row["results"], n) if row["expands"] else [])]
    out = iter(_launch(lib, row, "_hvp", [*operands, *d, *tangents], written, tail))
    return [next(out) if f else None for f in floats]
