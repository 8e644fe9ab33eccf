# SPDX-License-Identifier: Apache-2.0
# check_style.py: clang-format, ruff and codespell find nothing to change.
import shutil
import subprocess
import sys
import sysconfig

import pytest

from tests.lint import repository


def tool(name: str) -> str:
    """The tool of the Python that runs the tests, so that its version is the pinned one."""
    path = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed in {sys.prefix}")
    return path


def run(*command) -> None:
    done = subprocess.run(command, cwd=repository.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]


def test_clang_format():
    paths = repository.with_suffix(".cpp", ".h")
    command = [tool("clang-format"), "--dry-run", "--ferror-limit=1", *paths]
    done = subprocess.run(command, cwd=repository.ROOT, capture_output=True, text=True)
    wrong = dict.fromkeys(
        line.split(":")[0] for line in done.stderr.splitlines() if ": warn" in line
    )
    repository.report(sorted(wrong), "Run `make format`.")


def test_ruff_check():
    run(tool("ruff"), "check", "--no-cache", *repository.with_suffix(".py"))


def test_ruff_format():
    run(tool("ruff"), "format", "--no-cache", "--check", *repository.with_suffix(".py"))


def test_codespell():
    run(
        tool("codespell"),
        *repository.with_suffix(".py", ".cpp", ".h", ".inc", ".md", ".sh", ".cmake"),
    )
