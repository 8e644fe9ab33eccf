# SPDX-License-Identifier: Apache-2.0
# error_page.py: writes docs/errors.md, the catalogue of error codes: for each code its message, its
# remedy, and of the wrong programs in tests/errors one with what it prints. `--check` compares.
import pathlib
import runpy
import tempfile

import warp_torch as wp
from warp_torch import _C
from written_files import write_or_check

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests/errors"
PAGE = ROOT / "docs/errors.md"
GROUPS = {
    "WT0": "Declaring kernels",
    "WT1": "Types",
    "WT3": "Gradients",
    "WT4": "Checked and deterministic mode",
    "WT5": "Launches",
    "WT6": "Arrays, values and functions on the host",
    "WT7": "Devices, compilers, modules and files",
    "WT8": "Ops, rollouts and optimisation",
}
HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# Errors

Written by scripts/error_page.py from the table of codes and the wrong programs in tests/errors.

Every error of warp_torch is a `warp_torch.Error`, which is a `RuntimeError`: `KernelError` (the
kernel's source), `ArgumentTypeError` (also a `TypeError`), `ArgumentValueError` (also a
`ValueError`), `GradientError` (a derivative is refused), `DeviceError` (driver or compiler).
Attributes: `code`, `filename`, `lineno`, `col`, `hint`,
`message`. Codes never change meaning. An `InternalError` is a fault of ours: please report it.
"""


def program(path):
    """Text of a test file without its head and marks."""
    lines = path.read_text().splitlines()
    while lines and lines[0].startswith("#"):
        lines.pop(0)
    return lines


def printed(error, path):
    text = str(error).replace(str(path), "example.py")
    return "\n".join(line.rstrip() for line in text.splitlines())


def of_kernel(path, code):
    """(program, what it prints) of the first wrong kernel of a file."""
    shown = "import warp_torch as wp\n\n\n" + first_kernel(path)
    with tempfile.TemporaryDirectory() as folder:
        alone = pathlib.Path(folder, "example.py")
        alone.write_text(shown + "\n")
        try:
            runpy.run_path(str(alone))
        except wp.Error as e:
            if e.code == code:
                return shown, printed(e, alone)
        except NameError:
            pass  # it needs more of its file
    return shown, ""


def first_kernel(path):
    lines = path.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if "# ERROR" in line)
    # The kernel around the mark, or the function before a kernel that calls it.
    start = max(i for i in range(first + 1) if lines[i].startswith(("@wp.", "def ")))
    while start and lines[start - 1].strip():
        start -= 1
    end = first
    while end + 1 < len(lines) and (lines[end + 1].startswith(" ") or not lines[end].strip()):
        end += 1
    if not any(line.startswith("@wp.kernel") for line in lines[start : end + 1]):
        end = next(i for i in range(end + 1, len(lines)) if lines[i].startswith("def "))
        while end + 1 < len(lines) and lines[end + 1].startswith(" "):
            end += 1
    shown = [line.split("  # ERROR")[0].rstrip() for line in lines[start : end + 1]]
    while shown and not shown[-1]:
        shown.pop()
    return "\n".join(shown)


def of_run(path):
    names = runpy.run_path(str(path))
    try:
        names["wrong"]()
    except wp.Error as e:
        return "\n".join(program(path)).strip(), printed(e, path)
    raise SystemExit(f"{path} raises nothing")


def section(code, text, remedy):
    out = [f"### {code}", "", f"*{text}*", "", f"{remedy[0].upper()}{remedy[1:]}.", ""]
    for path in sorted(FOLDER.glob(f"{code}_*.py")):
        shown, said = of_kernel(path, code)
        out += ["```python", shown, "```", *(["```text", said, "```"] if said else []), ""]
    for path in sorted((FOLDER / "run").glob(f"{code}_*.py")):
        shown, said = of_run(path)
        out += ["```python", shown, "```", "```text", said, "```", ""]
    return out


def page():
    out, group = [HEAD], None
    for code, text, remedy in _C.error_rows():
        if code[:3] != group:
            group = code[:3]
            out += [f"## {GROUPS[group]}", ""]
        for i, word in enumerate(("...", "...", "...", "...")):
            text = text.replace(f"{{{i}}}", word)
        out += section(code, text, remedy)
    return "\n".join(out).rstrip() + "\n"


if __name__ == "__main__":
    write_or_check(PAGE, page())
