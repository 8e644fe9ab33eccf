# SPDX-License-Identifier: Apache-2.0
# check_words.py: words that must not be in the project: paths of one machine, unnumbered notes of
# unfinished work, the addresses of package registries.
import re

import pytest

from tests.lint import repository

RULES = [
    (re.compile(r"(?<![\w.$}])/(work|home|root|Users|tmp|scratch)/\w"), "a path of one machine"),
    (re.compile(r"\b(TODO|FIXME|XXX)\b(?!.{0,3}#\d+)"), "unfinished work with no issue number"),
    (re.compile(r"--(extra-)?index-url|https?://\S+/simple\b"), "the address of a registry"),
]
SKIPPED = ("LICENSE", "tests/lint/check_words.py")


def faults_in(name: str, text: str) -> list[str]:
    return [
        f"{name}:{number}: {what}: {line.strip()[:80]}"
        for number, line in enumerate(text.splitlines(), 1)
        for pattern, what in RULES
        if pattern.search(line)
    ]


def test_words():
    faults = []
    for path in repository.files():
        name = repository.name(path)
        if name not in SKIPPED:
            faults += faults_in(name, repository.text(path))
    repository.report(faults, "Remove them; a note of unfinished work names its issue: TODO(#12).")


@pytest.mark.parametrize(
    "line", ["x = '/home/me/a'", "// TODO: later", "pip install --index-url X"]
)
def test_a_wrong_word_is_found(line):
    assert faults_in("a", line)


@pytest.mark.parametrize(
    "line", ["// TODO(#12): later", "build/tmp/x", "${HOME}/work/a", "a/root/b"]
)
def test_a_right_line_passes(line):
    assert not faults_in("a", line)
