# SPDX-License-Identifier: Apache-2.0
# conftest.py: collects golden IR tests (*.wir) and skips what this machine cannot run.
# A .wir file starts with `// RUN: pass1,pass2` (or `// RUN:` alone); wt_opt runs these passes on
# the file and its output is matched against the file's CHECK lines (tests/support/check.py).
# `// RUN: pass1 --emit=cpu` matches emitted C++. `// RUN-FAIL: pass1` wants wt_opt to refuse the
# file and matches what it says.
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from tests.support import check

ROOT = pathlib.Path(__file__).resolve().parents[1]
# A GPU machine without a network lacks the packages that some CPU tests compare with; with
# WT_CUDA_TESTS_ONLY set, files that import one that is missing are left out.
IMPORT = re.compile(r"^(?:import|from) (pinocchio|scipy|warp)\b", re.M)
RUN = re.compile(r"//\s*RUN(-FAIL)?:\s*([^\s-]\S*)?\s*(--emit=\w+)?\s*$")


@pytest.fixture(params=["cpu", pytest.param("cuda:0", marks=pytest.mark.cuda)])
def device(request):
    """The default device of the test, each in turn. Files whose arrays are all made on the default
    device ask for it with `pytestmark = pytest.mark.usefixtures("device")`."""
    import warp_torch as wt

    with wt.ScopedDevice(request.param):
        yield request.param


def find_wt_opt() -> str | None:
    folders = [os.environ.get("WT_BUILD_DIR"), ROOT / "build", ROOT / "build-dev"]
    named = [os.environ.get("WT_OPT")]
    for path in named + [pathlib.Path(f) / "bin" / "wt_opt" for f in folders if f]:
        if path and os.access(path, os.X_OK):
            return str(path)
    return shutil.which("wt_opt")


class GoldenError(Exception):
    """What to show of a golden test that fails: text alone, no traceback."""


class GoldenItem(pytest.Item):
    def runtest(self):
        text = self.path.read_text(encoding="utf-8")
        run = RUN.match(text.split("\n", 1)[0])
        if not run:
            raise GoldenError("line 1 is not `// RUN: pass1,pass2`")
        wt_opt = find_wt_opt()
        if wt_opt is None:
            pytest.skip("wt_opt is not built (make build, or set WT_BUILD_DIR)")
        command = [wt_opt, f"--passes={run[2] or ''}", *filter(None, [run[3]]), str(self.path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        must_fail = run[1] is not None
        if (done.returncode != 0) != must_fail:
            wanted = "a refusal" if must_fail else "success"
            raise GoldenError(
                f"$ {' '.join(command)}\nexit status {done.returncode}, wanted {wanted}\n"
                f"{done.stdout}{done.stderr}"
            )
        try:
            check.check(text, done.stderr if must_fail else done.stdout)
        except check.Mismatch as mismatch:
            raise GoldenError(f"$ {' '.join(command)}\n{self.path}: {mismatch}") from None

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, GoldenError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, 0, self.path.relative_to(ROOT).as_posix()


class GoldenFile(pytest.File):
    def collect(self):
        yield GoldenItem.from_parent(self, name="golden")


def pytest_ignore_collect(collection_path):
    if os.environ.get("WT_CUDA_TESTS_ONLY") and collection_path.suffix == ".py":
        text = collection_path.read_text(encoding="utf-8")
        if any(importlib.util.find_spec(name) is None for name in IMPORT.findall(text)):
            return True
    return None


def pytest_collect_file(file_path, parent):
    return GoldenFile.from_parent(parent, path=file_path) if file_path.suffix == ".wir" else None


def pytest_collection_modifyitems(config, items):
    """Skips CUDA tests where there is no GPU; leaves out those that want more than there are, so
    that a skipped CUDA test is a fault on any machine with a GPU."""
    wanted = {i: m.kwargs.get("gpus", 1) for i in items if (m := i.get_closest_marker("cuda"))}
    if not wanted:
        return
    import torch

    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if found == 0:
        for item in wanted:
            item.add_marker(pytest.mark.skip(reason="torch.cuda is not available"))
        return
    left_out = [item for item, gpus in wanted.items() if gpus > found]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
