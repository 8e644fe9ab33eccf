# SPDX-License-Identifier: Apache-2.0
# test_page.py: docs/errors.md is what scripts/error_page.py writes now.
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def test_the_page_is_current():
    command = [sys.executable, str(ROOT / "scripts/error_page.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
