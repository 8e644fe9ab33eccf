# SPDX-License-Identifier: Apache-2.0
# recorded.py: the kernels that tests launched, and their compilation to cubins in worker processes.
import collections
import concurrent.futures
import dataclasses
import multiprocessing
import os
import pathlib
import re

import warp_torch as wt
from warp_torch import _C

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
# Whether it compiles is asked, not how fast it runs: this takes a tenth of the time.
QUICK = ["--Ofast-compile=max"]
# One translation unit for many small kernels: most of the time of a small one is its own set-up.
UNIT_CHARACTERS = 120_000
FORMS = {
    "fwd": "forward",
    "adj": "adjoint",
    "adjat": "adjoint_atomic",
    "adjfr": "adjoint_fresh",
    "adjze": "adjoint_zero",
    "aug": "augmented",
    "tan": "tangent",
}
# The masks of derivative forms stand at the end of their entry names.
ENTRY = re.compile(rf"_({'|'.join(FORMS)})([01]*)$")


@dataclasses.dataclass(frozen=True)
class KernelForm:
    """One form of a recorded kernel. `ir` is that of the kernel, `size` that of the form's text."""

    ir: str
    form: str
    mask: str
    entry: str
    size: int

    def load(self):
        return _C.kernel_from_ir(self.ir), self.form, [c == "1" for c in self.mask]


def bits(mask: str) -> list[bool]:
    return [c == "1" for c in mask]


def launched(folder: pathlib.Path) -> dict[str, set[str]]:
    """{program hash: entries} of what was launched."""
    return {path.stem: set(path.read_text().split()) for path in sorted(folder.glob("*.forms"))}


def forms_of(ir: str, entries: set[str]) -> list[KernelForm]:
    """The launched forms, and forward, adjoint and tangent where they are not refused."""
    kernel = _C.kernel_from_ir(ir)
    asked = {ENTRY.search(entry).groups() for entry in entries} | {("fwd", "")}
    floats = [any(f in p["type"] for f in ("f16", "f32", "f64")) for p in kernel.params()]
    derived = set()
    if any(floats):
        mask = "".join("1" if f else "0" for f in floats)
        derived.add(("tan", mask))
        if not any(kind.startswith("adj") for kind, _ in asked):
            derived.add(("adj", mask))
    out = []
    for kind, mask in sorted(asked | derived):
        form = FORMS[kind]
        try:
            size = len(kernel.source("cuda", form, bits(mask)))
        except wt.GradientError:
            if (kind, mask) in asked:
                raise
            continue
        out.append(KernelForm(ir, form, mask, _C.entry(kernel, form, bits(mask)), size))
    return out


def units(forms: list[KernelForm]) -> list[list[KernelForm]]:
    """Forms that are compiled together; the longest first, so that no worker ends late."""
    out: list[list[KernelForm]] = []
    room = 0
    for form in sorted(forms, key=lambda f: -f.size):
        if not out or form.size > room:
            out.append([])
            room = UNIT_CHARACTERS
        out[-1].append(form)
        room -= form.size
    return out


def entries_in(cubin: bytes) -> set[str]:
    """Names of the kernels whose code is in the cubin."""
    assert cubin[:4] == b"\x7fELF"
    # Only kernels have a constant bank of their own; called functions have code alone.
    return {name.decode() for name in re.findall(rb"\.nv\.constant0\.(\w+)\0", cubin)}


def compile_unit(forms: list[KernelForm], arch: str) -> tuple[str, set[str], list[str]]:
    """The architecture, the entries that have code, and the errors of those that do not."""
    try:
        return arch, entries_in(_C.cubin([f.load() for f in forms], arch, QUICK)), []
    except wt.Error as error:
        if len(forms) == 1:
            return arch, set(), [f"{forms[0].entry} for {arch}: {error}"]
    done, errors = set(), []
    for form in forms:  # which of them was it?
        _, entries, failed = compile_unit([form], arch)
        done |= entries
        errors += failed
    return arch, done, errors


def compile_all(forms: list[KernelForm]) -> tuple[dict[str, set[str]], list[str]]:
    """{architecture: entries with code}, errors. NVRTC is serial within a process."""
    jobs = [(unit, arch) for unit in units(forms) for arch in ARCHITECTURES]
    if len(jobs) <= len(ARCHITECTURES):
        done = [compile_unit(*job) for job in jobs]  # less than what starting the workers costs
    else:
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), context) as pool:
            done = list(pool.map(compile_unit, *zip(*jobs)))
    compiled, errors = collections.defaultdict(set), []
    for arch, entries, failed in done:
        compiled[arch] |= entries
        errors += failed
    return compiled, errors


def check(folder: pathlib.Path) -> str:
    """Raises AssertionError unless what compiled for each architecture is what was launched, and
    its derivatives: no kernel less, none more. Says how many there were."""
    programs = launched(folder)
    assert programs, "the tests launched no kernel"
    # By the entry that the recorded IR gives now: optimised once more, a few kernels come out as
    # another program, or as one that was launched too.
    found = {}
    for name, entries in programs.items():
        for form in forms_of((folder / f"{name}.wir").read_text(), entries):
            found[form.entry] = form
    forms, wanted = list(found.values()), set(found)
    compiled, errors = compile_all(forms)
    assert not errors, "\n".join(errors[:5])
    for arch in ARCHITECTURES:
        assert compiled[arch] == wanted, (
            f"{arch}: launched and not compiled {sorted(wanted - compiled[arch])}, "
            f"compiled and not launched {sorted(compiled[arch] - wanted)}"
        )
    return f"{len(programs)} kernels, {len(wanted)} forms, {len(ARCHITECTURES)} architectures"
