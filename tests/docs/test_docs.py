# SPDX-License-Identifier: Apache-2.0
# test_docs.py: examples in the documentation run, pages that are written by scripts are current, and
# every public name has its place in them.
import inspect
import pathlib
import re
import runpy
import subprocess
import sys

import pytest
import warp_torch as wt

ROOT = pathlib.Path(__file__).parents[2]
WRITTEN = ("api.md", "errors.md", "builtins.md")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def example(page):
    """The page's blocks of Python as one program whose lines are numbered as in the page."""
    text = page.read_text()
    lines = [""] * text.count("\n")
    for block in BLOCK.finditer(text):
        first = text[: block.start(1)].count("\n")
        body = block[1].splitlines()
        lines[first : first + len(body)] = body
    return "\n".join(lines)


@pytest.mark.parametrize(
    "page",
    [p for p in PAGES if p.name not in WRITTEN and BLOCK.search(p.read_text())],
    ids=lambda p: p.name,
)
def test_examples_run(page, tmp_path):
    program = tmp_path / (page.stem + ".py")
    program.write_text(example(page))
    try:
        runpy.run_path(str(program))
    finally:
        wt.config.check_grad = False


def test_the_reference_is_current():
    command = [sys.executable, str(ROOT / "scripts/api_page.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_documented():
    text = (ROOT / "docs/api.md").read_text()
    named = set(re.findall(r"^### (\w+)$|`(\w+)[`(]", text, re.MULTILINE))
    named = {n for pair in named for n in pair if n}
    assert [n for n in wt.__all__ if n not in named] == []
    for name in wt.__all__:
        v = getattr(wt, name)
        if inspect.isclass(v) or inspect.isroutine(v) or inspect.ismodule(v):
            assert (v.__doc__ or "").strip(), name


def test_public_names():
    """What the package exports is meant to be used: none of its own machinery."""
    internal = ["canonical", "is_type", "nearest", "np_dtype", "type_text", "frontend", "scope"]
    internal += ["struct_bytes", "from_text", "array_annotation", "Composite", "host_data", "op"]
    for name in internal:
        assert not hasattr(wt, name), name
    assert len(set(wt.__all__)) == len(wt.__all__) and set(wt.__all__) <= set(dir(wt))
    assert not any(n.startswith("_") for n in dir(wt))
    assert {"sin", "tid", "atomic_add", "bool", "map"} <= set(dir(wt))


def test_pages_link_to_what_is_there():
    for page in PAGES:
        for target in re.findall(r"\]\(([\w./]+\.md)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_site_has_every_page():
    listed = set(re.findall(r": (\w+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert listed == {p.name for p in (ROOT / "docs").glob("*.md")} - {"NOTES.md"}
