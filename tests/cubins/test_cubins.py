# SPDX-License-Identifier: Apache-2.0
# test_cubins.py: every kernel that the CPU tests launched compiles to GPU code, no GPU needed.
# Run after the other tests with WT_RECORD_KERNELS naming the folder that they recorded into.
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from tests.cubins import recorded

FOLDER = os.environ.get("WT_RECORD_KERNELS")
LAUNCH = """
import warp_torch as wt

@wt.kernel
def cubed(x: wt.array(dtype=float), y: wt.array(dtype=float)):
    i = wt.tid()
    y[i] = x[i] * x[i] * x[i]

@wt.kernel
def marked(x: wt.array(dtype=int)):
    x[wt.tid()] = 1

x = wt.array([1.0, 2.0], dtype=float, device="cpu", requires_grad=True)
y = wt.zeros(2, dtype=float, device="cpu", requires_grad=True)
with wt.Tape() as tape:
    wt.launch(cubed, 2, inputs=[x], outputs=[y], device="cpu")
tape.backward(grads={y: wt.ones(2, dtype=float, device="cpu")})
wt.launch(marked, 2, outputs=[wt.zeros(2, dtype=int, device="cpu")], device="cpu")
"""


@pytest.mark.skipif(not FOLDER, reason="no other test has recorded kernels")
def test_every_launched_kernel_compiles_for_every_architecture():
    print(recorded.check(pathlib.Path(FOLDER)))


@pytest.fixture(scope="module")
def two_kernels(tmp_path_factory):
    """What a process that launches two kernels records; one of them also backwards."""
    folder = tmp_path_factory.mktemp("launched")
    script = folder / "launch.py"
    script.write_text(LAUNCH)
    environment = {**os.environ, "WT_RECORD_KERNELS": str(folder)}
    subprocess.run([sys.executable, script], env=environment, check=True)
    return folder


@pytest.fixture
def copied(two_kernels, tmp_path):
    return pathlib.Path(shutil.copytree(two_kernels, tmp_path / "launched"))


def record_of(folder, name):
    """The file that lists the entries launched of this kernel."""
    (path,) = (p for p in folder.glob("*.forms") if p.read_text().startswith(name))
    return path


def test_the_set_is_what_was_launched(two_kernels):
    """Forward, adjoint and tangent of one, of which two were launched; the other has none."""
    forms = {}
    for name in ("cubed", "marked"):
        record = record_of(two_kernels, name)
        entries = set(record.read_text().split())
        found = recorded.forms_of(record.with_suffix(".wir").read_text(), entries)
        assert entries <= {form.entry for form in found}
        forms[name] = [len(entries), *sorted(form.form for form in found)]
    assert forms == {"cubed": [2, "adjoint", "forward", "tangent"], "marked": [1, "forward"]}
    assert recorded.check(two_kernels).endswith("3 architectures")


def test_a_kernel_left_out_fails(copied, monkeypatch):
    """A form that is never handed to the compiler is missed in the cubins."""
    everything = recorded.units

    def without_one(forms):
        return everything(
            [f for f in forms if not f.entry.startswith("cubed") or f.form != "adjoint"]
        )

    monkeypatch.setattr(recorded, "units", without_one)
    with pytest.raises(AssertionError, match=r"launched and not compiled \['cubed_\w+_adj11'\]"):
        recorded.check(copied)


def test_a_kernel_whose_ir_is_lost_fails(copied):
    record_of(copied, "marked").with_suffix(".wir").unlink()
    with pytest.raises(FileNotFoundError):
        recorded.check(copied)


def test_a_kernel_that_cannot_compile_fails_by_name(copied, monkeypatch):
    monkeypatch.setattr(recorded, "ARCHITECTURES", ("sm_12",))
    with pytest.raises(AssertionError, match="cubed_.*sm_12"):
        recorded.check(copied)
