# SPDX-License-Identifier: Apache-2.0
# test_errors.py: every file WTnnn_*.py here holds kernels that are wrong, each with a comment
# `# ERROR WTnnn: substring` on the line that the error must name.
import ast
import pathlib
import re
import runpy

import pytest
from warp_torch.errors import KernelError

from tests.support import language

FOLDER = pathlib.Path(__file__).parent
ROOT = FOLDER.parents[1]
MARK = re.compile(r"# ERROR (WT\d+): (.*)$")
PRINTED = re.compile(r"^(.*?):(\d+):(\d+): error (WT\d+): (.*)$", re.MULTILINE)

pytestmark = pytest.mark.skipif(language.find_wt_lower() is None, reason="wt_lower is not built")


def wanted(path):
    """[(line, code, substring)] of a file."""
    out = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := MARK.search(line):
            out.append((number, match[1], match[2].strip()))
    return out


def refusal(kernel):
    try:
        language.lower(kernel, **getattr(kernel, "options", {}))
    except (KernelError, language.Refused) as e:
        return str(e)
    return None


def files():
    return sorted(FOLDER.glob("WT*.py"))


@pytest.mark.parametrize("path", files(), ids=lambda p: p.stem)
def test_error(path):
    names = runpy.run_path(str(path))
    kernels = [v for v in names.values() if getattr(v, "wt_kind", "") == "kernel"]
    kernels.sort(key=lambda k: k.pyfunc.__code__.co_firstlineno)
    marks = wanted(path)
    found = []
    for k in kernels:
        text = refusal(k)
        if text is None:
            continue
        match = PRINTED.search(text)
        assert match, f"no place and code in: {text}"
        assert match[1] == str(path)
        lines = text.splitlines()
        source = path.read_text().splitlines()[int(match[2]) - 1]
        assert lines[1] == "    " + source, text
        assert lines[2].index("^") == 4 + int(match[3]) - 1, text
        assert "\n  help: " in text, f"no remedy in: {text}"
        found.append((int(match[2]), match[4], match[5] + text))
    assert [(n, code) for n, code, _ in found] == [(n, code) for n, code, _ in marks], found
    for (_, _, text), (_, _, part) in zip(found, marks, strict=True):
        assert part in text


def table():
    text = (ROOT / "csrc/codegen/support/diagnostics.inc").read_text()
    return re.findall(r"^WT_DIAGNOSTIC\((WT\d+), (k\w+),", text, re.MULTILINE)


def test_codes_are_unique():
    rows = table()
    assert len({code for code, _ in rows}) == len({name for _, name in rows}) == len(rows)


def test_every_code_has_a_file():
    # WT001 needs a function without source, WT014 and WT119 need more than a file: see below.
    # WT3xx to WT5xx need a launch: run/, and what has to be planted or needs a GPU elsewhere.
    elsewhere = {"WT001", "WT119", "WT301", "WT306", "WT307", "WT310", "WT311", "WT505"}
    elsewhere |= {"WT321", "WT322", "WT325"}
    # These need a GPU, a driver, a broken compiler or file: tests/runtime, tests/python.
    elsewhere |= {"WT701", "WT708", "WT709", "WT710", "WT711", "WT712", "WT718"}
    tested = {code for path in files() for _, code, _ in wanted(path)}
    tested |= {path.name[:5] for path in (FOLDER / "run").glob("WT*.py")}
    assert {code for code, _ in table()} - tested <= elsewhere


def test_python_raises_only_codes_of_the_table():
    codes = {code for code, _ in table()}
    for path in (ROOT / "python/warp_torch").glob("*.py"):
        assert set(re.findall(r"\"(WT\d+)\"", path.read_text())) <= codes, path


CLASSES = "ArgumentTypeError|ArgumentValueError|GradientError|DeviceError|KernelError"


def without_code(path):
    """Lines of a Python file that make an error with no code=."""
    for node in ast.walk(ast.parse(path.read_text())):
        name = getattr(getattr(node, "func", None), "id", "")
        if re.fullmatch(CLASSES, name) and "code" not in {k.arg for k in node.keywords}:
            yield f"{path.name}:{node.lineno}"


def test_every_error_of_the_package_has_a_code():
    files = (ROOT / "python/warp_torch").glob("*.py")
    assert [place for path in files for place in without_code(path)] == []


def test_every_error_of_the_core_has_a_code():
    # op_bind raises again what has been raised; ad_passes and wt_opt speak to us, not to users.
    ours = {"op_bind.cpp", "ad_passes.cpp", "wt_opt.cpp", "wt_lower.cpp"}
    classes = CLASSES.removesuffix("|KernelError")  # which cannot be made without
    thrown = re.compile(rf"throw (?:wt::)?(?:{classes})\(\s*(\S+)")
    found = []
    for folder in ("csrc", "python/warp_torch/_bind"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".cpp", ".h") or path.name in ours:
                continue
            for match in thrown.finditer(path.read_text()):
                first = match[1]
                if not first.startswith(("coded(", "std::move(place)", "{.code")):
                    found.append(f"{path.name}: {match[0]}")
    assert found == []


def test_no_source():
    names = {}
    exec("def f(x: float): pass", names)
    with pytest.raises(KernelError, match="source=") as e:
        language.lower(language.Marked(names["f"], "kernel"))
    assert e.value.code == "WT001" and e.value.hint


def test_generic_parameter_of_another_kind():
    wp = language.wp

    @wp.kernel
    def k(x: wp.array(dtype=wp.Float)):
        x[0] = x[1]

    assert "array<f64,1>" in language.lower(k, [wp.array(dtype=wp.float64)])
    with pytest.raises(language.Refused, match="WT119: parameter `x`"):
        language.lower(k, [wp.array(dtype=int)])
