# SPDX-License-Identifier: Apache-2.0
# test_basics.py: the first examples run and their assertions hold.
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = {
    "scale_kernel.py": ([], ["y      = [2. 4. 6.]", "x.grad = [2. 2. 2.]"]),
    "gravity_step.py": (["--particles", "10000"], ["10,000 particles", "gradient through 100"]),
    "projectile.py": ([], ["lands at 25.0"]),
}


def run(name, *options):
    pytest.importorskip("warp_torch")
    program = ROOT / "examples" / "basics" / name
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, str(program), *options],
        capture_output=True, text=True, timeout=300, env=environment,
    )  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name):
    options, wanted = EXAMPLES[name]
    done = run(name, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    for line in wanted:
        assert line in done.stdout


@pytest.mark.cuda
def test_gravity_on_a_gpu():
    few = ["--particles", "10000", "--steps", "3"] if "WT_SANITIZER" in os.environ else []
    done = run("gravity_step.py", "--device", "cuda:0", *few)
    assert done.returncode == 0, done.stdout + done.stderr
