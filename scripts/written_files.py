# SPDX-License-Identifier: Apache-2.0
# written_files.py: what scripts that write a file of the repository have in common: with `--check`
# they compare it with what is there.
import difflib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOST_LINES = 40


def write_or_check(path: pathlib.Path, text: str) -> None:
    """Writes the file; with `--check` leaves with the first differences, if there are any."""
    if "--check" not in sys.argv:
        path.write_text(text)
        return
    there = path.read_text() if path.exists() else ""
    difference = difflib.unified_diff(there.splitlines(), text.splitlines(), lineterm="")
    said = "\n".join(list(difference)[:MOST_LINES])
    if said:
        script = pathlib.Path(sys.argv[0]).name
        sys.exit(f"{path.relative_to(ROOT)} is not current; run scripts/{script}\n{said}")
