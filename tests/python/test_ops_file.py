# SPDX-License-Identifier: Apache-2.0
# test_ops_file.py: ops in a file, for processes with neither their source nor a compiler.
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest
import torch
import warp_torch as wp

EXAMPLE = str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "libtorch")


@wp.kernel
def spring(x: wp.array(dtype=wp.vec2), k: float, force: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    force[i] = -k * x[i] * wp.length(x[i])


WITHOUT_SOURCE = """
    import torch, warp_torch as wp
    wp.config.kernel_cache_dir = r"{folder}/cache"
    wp.config.host_compiler = "/no/such/compiler"
    ops = wp.load_ops(r"{folder}/ops.wtb")
    x = torch.tensor([[3.0, 4.0]], requires_grad=True)
    (force,) = (ops["spring"](x, 2.0),)
    force.sum().backward()
    print(force.tolist(), [round(g, 4) for g in x.grad[0].tolist()])
    whole = torch.export.load(r"{folder}/model.pt2").module()
    print(whole(x.detach()).tolist())
"""


class Model(torch.nn.Module):
    def __init__(self, op):
        super().__init__()
        self.op = op

    def forward(self, x):
        return 3.0 * self.op(x, 2.0)


def run(script, **env):
    kept = {k: v for k, v in os.environ.items() if k not in ("PATH", "CXX")}
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=kept | env,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_another_process_needs_neither_source_nor_compiler(tmp_path):
    op = wp.kernel_op(spring)
    assert wp.save_ops(tmp_path / "ops.wtb", {"spring": op}, device="cpu").exists()
    exported = torch.export.export(Model(op), (torch.ones(1, 2),))
    torch.export.save(exported, tmp_path / "model.pt2")
    done = run(WITHOUT_SOURCE.format(folder=tmp_path), PATH=str(tmp_path))
    # force = -k x |x|; the gradient of its sum is -k (|x| + x (x + y) / |x|)
    assert done.stdout.splitlines() == [
        "[[-30.0, -40.0]] [-18.4, -21.2]",
        "[[-90.0, -120.0]]",
    ], done.stderr


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(wp.ArgumentTypeError, match=r"got 'spring'.*wanted names and what"):
        wp.save_ops(tmp_path / "a.wtb", {"spring": spring}, device="cpu")
    (tmp_path / "b.wtb").write_text("nothing of the kind")
    with pytest.raises(wp.ArgumentValueError, match="is no bundle of this version"):
        wp.load_ops(tmp_path / "b.wtb")
    with pytest.raises(wp.DeviceError, match="could not be read"):
        wp.load_ops(tmp_path / "c.wtb")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Folder of the C++ example's programs, built as its users build them."""
    if shutil.which("cmake") is None:
        pytest.skip("the C++ example is built by CMake")
    build = os.environ.get("WT_BUILD_DIR", "")
    if not os.path.exists(os.path.join(build, "cmake_install.cmake")):
        pytest.skip("no build folder to install from")
    folder = tmp_path_factory.mktemp("programs")
    prefix = f"{folder / 'installed'};{torch.utils.cmake_prefix_path}"
    for command in (
        ["--install", build, "--component", "cpp", "--prefix", folder / "installed"],
        ["-S", EXAMPLE, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}"],
        ["--build", folder],
    ):
        done = subprocess.run(["cmake", *command], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def without_compiler(program, *args):
    folder = program.parent
    env = {"PATH": str(folder), "HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([program, *args], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (folder / "home").exists()  # nothing was compiled, so nothing kept
    return done.stdout


@pytest.mark.slow
def test_a_cpp_program_trains_without_python(programs, tmp_path):
    file = tmp_path / "arm.wtb"
    script = os.path.join(EXAMPLE, "save_step.py")
    run_path = subprocess.run([sys.executable, script, file, "--device", "cpu"], timeout=120)
    assert run_path.returncode == 0
    assert "after 150 iterations on cpu" in without_compiler(programs / "train_arm", file)


@pytest.mark.slow
def test_a_packaged_model_runs_without_python(programs, tmp_path):
    op = wp.kernel_op(spring)
    ops, package = tmp_path / "ops.wtb", tmp_path / "model.pt2"
    wp.save_ops(ops, {"spring": op}, device="cpu")
    exported = torch.export.export(Model(op), (torch.ones(3, 2),))
    torch._inductor.aoti_compile_and_package(exported, package_path=str(package))
    shown = without_compiler(programs / "run_package", ops, package)
    assert [float(v) for v in shown.split("[")[0].split()] == pytest.approx([-6 * 2**0.5] * 6, 1e-4)
