# SPDX-License-Identifier: Apache-2.0
# check_needed.py: what the built libraries need, what they are called, and that each exists once.
import re
import shutil
import subprocess

import pytest

from tests.lint import repository

SYSTEM = {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6", "libdl.so.2",
          "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}  # fmt: skip
# Pattern of the file -> the libraries it must and may need beside the system's.
RULES = {
    "libwarp_torch.so": set(),
    "_C.*.so": {"libwarp_torch.so"},
    "libwt_torch_*.so": {"libtorch_cpu.so", "libc10.so"},
}


def built(pattern: str):
    """The one file of the package with this name; skips the test before the first build."""
    found = sorted(repository.PACKAGE.glob(pattern))
    if not found:
        pytest.skip(f"{pattern} is not built")
    return found


def dynamic(path) -> dict[str, list[str]]:
    if not shutil.which("readelf"):
        pytest.skip("readelf (binutils) is not installed")
    out = subprocess.run(
        ["readelf", "-dW", path], capture_output=True, text=True, check=True
    ).stdout
    tags: dict[str, list[str]] = {}
    for tag, value in re.findall(r"\((\w+)\).*\[(.*)\]", out):
        tags.setdefault(tag, []).append(value)
    return tags


@pytest.mark.parametrize("pattern", RULES)
def test_needed(pattern):
    for path in built(pattern):
        needed = set(dynamic(path).get("NEEDED", []))
        assert needed - SYSTEM == RULES[pattern], f"{path.name} needs {sorted(needed)}"


@pytest.mark.parametrize("pattern", ["libwarp_torch.so", "libwt_torch_*.so"])
def test_soname(pattern):
    for path in built(pattern):
        assert dynamic(path).get("SONAME") == [path.name]


@pytest.mark.parametrize("pattern", RULES)
def test_runs_from_where_it_lies(pattern):
    for path in built(pattern):
        tags = dynamic(path)
        runpath = tags.get("RUNPATH", []) + tags.get("RPATH", [])
        assert runpath in ([], ["$ORIGIN"]), f"{path.name}: run path {runpath}"


def test_extension_carries_no_second_copy():
    """_C and the PyTorch library define none of the functions of libwarp_torch.so themselves."""
    if not shutil.which("nm"):
        pytest.skip("nm (binutils) is not installed")

    def functions(path, flags):
        out = subprocess.run(["nm", "-C", *flags, path], capture_output=True, text=True, check=True)
        return {
            line.split(" ", 2)[2]
            for line in out.stdout.splitlines()
            if re.match(r"\w+ [Tt] ", line)
        }

    (library,) = built("libwarp_torch.so")
    exported = {f for f in functions(library, ["-D", "--defined-only"]) if f.startswith("wt::")}
    for pattern in ("_C.*.so", "libwt_torch_*.so"):
        for path in built(pattern):
            twice = exported & functions(path, ["--defined-only"])
            assert not twice, f"{path.name} has its own copy of {sorted(twice)[:5]}"
