# SPDX-License-Identifier: Apache-2.0
# test_typing.py: the stubs are current, and type checkers accept user_code.py with them.
import importlib.util
import os
import pathlib
import re
import runpy
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[1]
ENVIRONMENT = {**os.environ, "MYPYPATH": str(ROOT / "python")}


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


def test_the_code_runs():
    assert runpy.run_path(str(FOLDER / "user_code.py"))["main"]() > 0


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy(tmp_path):
    done = mypy(FOLDER / "user_code.py", tmp_path)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import warp_torch as wp\n"
        "wp.launches(1)\n"
        "wp.zeros(3, dtype=float).shape = 3\n"
        "wp.sin('a')\n"
        "wp.config.mode = 3\n"
        "x: wp.vec3 = wp.normalize(wp.vec2(1.0, 2.0))\n"
    )
    done = mypy(wrong, tmp_path)
    lines = {int(n) for n in re.findall(r"wrong.py:(\d+): error", done.stdout)}
    assert lines == {2, 3, 4, 5, 6}, done.stdout


@pytest.mark.skipif(importlib.util.find_spec("pyright") is None, reason="pyright is not installed")
@pytest.mark.slow
def test_pyright():
    done = run(sys.executable, "-m", "pyright", "-p", FOLDER, "--pythonpath", sys.executable)
    if " errors, " not in done.stdout:
        pytest.skip("pyright needs Node.js and found none")
    assert done.returncode == 0, done.stdout
