# SPDX-License-Identifier: Apache-2.0
# repository.py: the tracked files, for the lint tests; the build's folders are never among them.
import functools
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "warp_torch"
CXX = (".cpp", ".h", ".inc")


@functools.cache
def files() -> tuple[pathlib.Path, ...]:
    """Tracked files, and new ones that git does not ignore, as absolute paths."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    paths = (ROOT / name for name in listing.split("\0") if name)
    return tuple(sorted(path for path in paths if path.is_file() and not path.is_symlink()))


def with_suffix(*suffixes: str) -> list[pathlib.Path]:
    return [path for path in files() if path.suffix in suffixes]


def name(path: pathlib.Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text(path: pathlib.Path) -> str:
    """The file's text; empty for a file that is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def report(faults: list[str], what_to_do: str) -> None:
    """Fails the test with every fault on a line of its own."""
    assert not faults, "\n  " + "\n  ".join(faults) + f"\n{what_to_do}"
