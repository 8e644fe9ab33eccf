# SPDX-License-Identifier: Apache-2.0
# test_ahead.py: bundles of compiled kernels: made here, loaded where no compiler is.
import os
import subprocess
import sys
import textwrap

import pytest
import warp_torch as wp
from warp_torch import _C

KERNELS = """
import warp_torch as wp

@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]
"""

USE = """
import numpy as np
import warp_torch as wp
import bundled_kernels as b

wp.config.kernel_cache_dir = "{cache}"
wp.config.host_compiler = "/no/such/compiler"
wp.load_aot_module(b, device="cpu", module_dir="{folder}")
x = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu", requires_grad=True)
y = wp.zeros(3, dtype=float, device="cpu", requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(b.square, dim=3, inputs=[x, y], device="cpu")
y.grad.fill_(1.0)
tape.backward()
print(y.numpy().tolist(), x.grad.numpy().tolist())
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "bundled_kernels.py").write_text(textwrap.dedent(KERNELS))
    monkeypatch.syspath_prepend(str(tmp_path))
    import bundled_kernels

    yield bundled_kernels
    del sys.modules["bundled_kernels"]


def test_a_bundle_loads_without_a_compiler(module, tmp_path):
    folder = tmp_path / "bundles"
    paths = wp.compile_aot_module(module, device="cpu", module_dir=folder)
    names = [p.name for p in paths]
    assert f"bundled_kernels.cpu-{_C.host_arch()}.wtb" in names
    assert all(p.exists() for p in paths)
    env = {k: v for k, v in os.environ.items() if k not in ("PATH", "CXX")}
    env["PATH"] = str(tmp_path)
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    script = USE.format(cache=tmp_path / "cache", folder=folder)
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "[1.0, 4.0, 9.0] [2.0, 4.0, 6.0]", done.stderr


def test_cubins_and_ptx_of_listed_architectures(module, tmp_path):
    paths = wp.compile_aot_module(module, arch=[80, "sm_90"], module_dir=tmp_path)
    assert [p.name.partition(".")[2] for p in paths] == [
        "cuda-sm_80.wtb",
        "cuda-compute_80.wtb",
        "cuda-sm_90.wtb",
        "cuda-compute_90.wtb",
    ]

    def binaries(path):
        return [data for _, data in _C.bundle_records(str(path))]

    assert len(binaries(paths[0])) > 2
    assert all(b[:4] == b"\x7fELF" for b in binaries(paths[0]))
    assert all(b".target sm_80" in t for t in binaries(paths[1]))
    only = wp.compile_aot_module(module, arch=80, module_dir=tmp_path, use_ptx=True)
    assert [p.name for p in only] == ["bundled_kernels.cuda-compute_80.wtb"]


def test_what_is_wrong_is_said(module, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no bundle for cpu .*bundled_kernels\.cpu"):
        wp.load_aot_module(module, device="cpu", module_dir=tmp_path)
    with pytest.raises(wp.ArgumentValueError, match="arch='fast'"):
        wp.compile_aot_module(module, arch="fast", module_dir=tmp_path)
    with pytest.raises(wp.ArgumentTypeError, match="wanted a Python module"):
        wp.compile_aot_module(None)
    empty = wp.get_module("a_module_without_kernels")
    with pytest.raises(wp.ArgumentValueError, match="no kernel with settled types"):
        wp.compile_aot_module(empty, device="cpu", module_dir=tmp_path)


@pytest.mark.cuda
def test_a_bundle_loads_on_a_gpu(module, tmp_path):
    wp.compile_aot_module(module, device="cuda:0", module_dir=tmp_path)
    wp.load_aot_module(module, device="cuda:0", module_dir=tmp_path)
    x = wp.array([1.0, 2.0], dtype=float, device="cuda:0")
    y = wp.zeros(2, dtype=float, device="cuda:0")
    wp.launch(module.square, dim=2, inputs=[x, y])
    assert y.numpy().tolist() == [1.0, 4.0]
