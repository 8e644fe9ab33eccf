# SPDX-License-Identifier: Apache-2.0
# check_sizes.py: caps on the lines of files and functions, and the first lines of files.
import ast
import re

import pytest

from tests.lint import repository

HARD = {".cpp": 600, ".h": 300, ".inc": 800, ".py": 600}
TABLES = re.compile(r"csrc/codegen/builtins/.*\.cpp$|\.inc$|csrc/codegen/device/")
TABLE_CAP = 800
FUNCTION_CAP = 60
VAGUE = re.compile(r"(^|_)(utils?|misc|helpers?|common)(_|\.|$)")
SPDX = re.compile(r"^(//|#|<!--) SPDX-License-Identifier: Apache-2\.0")
NAMED = (".cpp", ".h", ".inc", ".py")  # second line: "// file.cpp: what it is."

NOT_A_FUNCTION = r"(?!\s|namespace\b|extern\b|(?:if|for|while|switch|else|do|catch|try|return)\b)"
QUALIFIERS = r"(?:\s*(?:const|noexcept|override|final|->\s*[\w:<>,&* ]+))*"
OPENS = re.compile(rf"^.*\)({QUALIFIERS}|\s*: .*)\s*\{{$")


def declaration_start(lines: list[str], opened: int) -> int:
    """The first line of the declaration whose body opens in line `opened`."""
    depth, line = 0, opened
    while line >= 0:
        depth += lines[line].count(")") - lines[line].count("(")
        if depth <= 0:
            return line
        line -= 1
    return opened


def long_cxx_functions(text: str) -> list[tuple[int, int]]:
    """(line, length) of functions over the cap, read off the indentation clang-format gives."""
    found, lines = [], text.splitlines()
    for opened, line in enumerate(lines):
        if not OPENS.match(line):
            continue
        start = declaration_start(lines, opened)
        indent = re.match(r"\s*", lines[start])[0]
        if len(indent) > 2 or not re.match(NOT_A_FUNCTION, lines[start].lstrip()):
            continue
        for end in range(opened + 1, len(lines)):
            if lines[end].startswith(indent + "}"):
                if end - start + 1 > FUNCTION_CAP:
                    found.append((start + 1, end - start + 1))
                break
    return found


def long_python_functions(text: str) -> list[tuple[int, int]]:
    return [
        (node.lineno, node.end_lineno - node.lineno + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.end_lineno - node.lineno + 1 > FUNCTION_CAP
    ]


def test_files_are_short():
    faults = []
    for path in repository.with_suffix(*HARD):
        name, count = repository.name(path), len(repository.text(path).splitlines())
        cap = TABLE_CAP if TABLES.search(name) else HARD[path.suffix]
        if count > cap:
            faults.append(f"{name}: {count} lines, at most {cap}")
    repository.report(faults, "Split the file by what it does.")


def test_functions_are_short():
    faults = []
    for path in repository.with_suffix(".cpp", ".h", ".py"):
        find = long_python_functions if path.suffix == ".py" else long_cxx_functions
        for line, length in find(repository.text(path)):
            name = repository.name(path)
            faults.append(f"{name}:{line}: a function of {length} lines, at most {FUNCTION_CAP}")
    repository.report(faults, "Give its steps names.")


def first_lines_fault(name: str, text: str) -> str | None:
    lines = text.splitlines()
    if lines and lines[0].startswith("#!"):
        lines = lines[1:]
    if not lines or not SPDX.match(lines[0]):
        return f"{name}: the first line is not `SPDX-License-Identifier: Apache-2.0`"
    base = name.rsplit("/", 1)[-1]
    if name.endswith(NAMED) and not re.match(rf"(//|#) {re.escape(base)}: \S", (lines + [""])[1]):
        return f"{name}: the second line does not say `{base}: what it is.`"
    return None


def test_first_lines():
    faults = [
        fault
        for path in repository.with_suffix(*NAMED, ".sh", ".cmake")
        if (fault := first_lines_fault(repository.name(path), repository.text(path)))
    ]
    repository.report(faults, "Licence first, then the file's name and what it is.")


def test_names_say_something():
    # utils is the name that users know from Warp; a stub of it has no other.
    named = [p for p in repository.files() if p.suffix != ".pyi"]
    faults = [repository.name(p) for p in named if VAGUE.search(p.name)]
    repository.report(faults, "Name the file after the main thing in it.")


def test_a_long_cxx_function_is_found():
    body = "  f();\n" * FUNCTION_CAP
    assert long_cxx_functions(
        f"namespace wt {{\nvoid g(int a,\n       int b) {{\n{body}}}\n}}\n"
    ) == [(2, FUNCTION_CAP + 3)]
    assert long_cxx_functions(f"class A {{\n  int g() const {{\n{body}  }}\n}};\n")
    assert not long_cxx_functions(f"const Row kRows[] = {{\n{body}}};\n")


WRONG_FIRST_LINES = [
    "",
    "#include <x>\n",
    "// SPDX-License-Identifier: MIT\n// a.h: x.\n",
    "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n",
]


@pytest.mark.parametrize("text", WRONG_FIRST_LINES)
def test_wrong_first_lines_are_found(text):
    assert first_lines_fault("csrc/a.h", text)
