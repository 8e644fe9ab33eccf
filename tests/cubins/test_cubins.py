# SPDX-License-Identifier: Apache-2.0
# test_cubins.py: every kernel that the CPU tests launched compiles to GPU code, no GPU needed.
# Run after the other tests with WT_RECORD_KERNELS naming the folder that they recorded into.
import concurrent.futures
import os
import pathlib
import re

import pytest
import warp_torch as wt
from warp_torch import _C

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
FOLDER = os.environ.get("WT_RECORD_KERNELS")
# The masks of launched derivative forms stand at the end of their entry names.
ENTRY = re.compile(r"_(fwd|adj|adjat|adjfr|aug|tan)([01]*)$")
FORMS = {
    "fwd": "forward",
    "adj": "adjoint",
    "adjat": "adjoint_atomic",
    "adjfr": "adjoint_fresh",
    "aug": "augmented",
    "tan": "tangent",
}

pytestmark = pytest.mark.skipif(not FOLDER, reason="no other test has recorded kernels")


def launched():
    """{program hash: {(form, mask)}} of what the tests launched."""
    out = {}
    for path in sorted(pathlib.Path(FOLDER).glob("*.forms")):
        forms = out.setdefault(path.stem, set())
        for entry in path.read_text().split():
            kind, mask = ENTRY.search(entry).groups()
            forms.add((FORMS[kind], mask))
    return out


def all_forms(kernel):
    """Forward, and the derivatives by everything, where they are not refused."""
    mask = "".join(
        "1" if any(f in p["type"] for f in ("f16", "f32", "f64")) else "0" for p in kernel.params()
    )
    forms = {("forward", "")}
    if "1" in mask:
        forms.add(("tangent", mask))
        try:
            kernel.adjoint_info([c == "1" for c in mask])
        except wt.GradientError:
            return forms
        forms.add(("adjoint", mask))
    return forms


def compile_program(path, forms):
    """The (form, mask, architecture) that compile, and the errors of those that do not."""
    kernel = _C.kernel_from_ir(path.read_text())
    done, errors = set(), []
    for form, mask in sorted(forms | all_forms(kernel)):
        for arch in ARCHITECTURES:
            try:
                cubin = kernel.cubin(form, [c == "1" for c in mask], arch)
            except wt.Error as e:
                errors.append(f"{path.stem} {kernel.name} {form} {mask} {arch}: {e}")
                continue
            if cubin[:4] == b"\x7fELF":
                done.add((form, mask, arch))
    return path.stem, done, errors


def test_every_launched_kernel_compiles_for_every_architecture():
    wanted = launched()
    assert wanted, "the tests launched no kernel"
    folder = pathlib.Path(FOLDER)
    compiled, errors = {}, []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(compile_program, folder / f"{name}.wir", forms)
            for name, forms in wanted.items()
        ]
        for job in jobs:
            name, done, failed = job.result()
            compiled[name] = done
            errors += failed
    assert not errors, "\n".join(errors[:5])
    assert set(compiled) == set(wanted)
    for name, forms in wanted.items():
        for arch in ARCHITECTURES:
            left_out = {(f, m) for f, m in forms if (f, m, arch) not in compiled[name]}
            assert not left_out, (name, arch, left_out)
    print(f"{len(wanted)} kernels, {sum(map(len, compiled.values()))} cubins")


def test_a_kernel_left_out_is_noticed(tmp_path):
    """The check itself: a program whose text was lost is an error, not a smaller set."""
    (tmp_path / "0123.forms").write_text("k_0123_fwd\n")
    with pytest.raises(FileNotFoundError):
        compile_program(tmp_path / "0123.wir", {("forward", "")})
