# SPDX-License-Identifier: Apache-2.0
# check.py: matches the CHECK lines of a test file against a program's output, in order.
#   CHECK: text        some later line holds text
#   CHECK-NEXT: text   the very next line does
#   CHECK-NOT: text    no line between the matches before and after this one does
# In text, {{regex}} is a regular expression, [[NAME:regex]] also remembers what it matched, and
# [[NAME]] is what was remembered. A run of blanks matches any run of blanks. A text that starts or
# ends in a letter or digit matches whole words there: %1 is not found in %12.
import dataclasses
import re

DIRECTIVE = re.compile(r"(?://|#)\s*CHECK(-NEXT|-NOT)?:\s*(.*?)\s*$")
PIECE = re.compile(r"(\[\[\w+(?::.*?)?\]\](?!\])|\{\{.*?\}\}(?!\}))")
CAPTURE = re.compile(r"\[\[(\w+)(?::(.*))?\]\]")


@dataclasses.dataclass(frozen=True)
class Directive:
    line: int
    kind: str  # "", "-NEXT" or "-NOT"
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: CHECK{self.kind}: {self.text}"


class Mismatch(Exception):
    """A directive that does not hold; the message shows it and the output around the place."""


def directives(test: str) -> list[Directive]:
    found = []
    for number, line in enumerate(test.splitlines(), 1):
        if match := DIRECTIVE.search(line):
            found.append(Directive(number, match[1] or "", match[2]))
    return found


def compile_pattern(text: str, names: dict[str, str]) -> re.Pattern[str]:
    """The regular expression that `text` stands for, given what was remembered so far."""
    out, own = "", set()
    for piece in PIECE.split(text):
        if capture := CAPTURE.fullmatch(piece):
            name, regex = capture[1], capture[2]
            if regex is not None:
                out += f"(?P<{name}>{regex})"
                own.add(name)
            elif name in own:
                out += f"(?P={name})"
            elif name in names:
                out += re.escape(names[name])
            else:
                raise Mismatch(f"[[{name}]] is used before [[{name}:regex]] has matched")
        elif piece.startswith("{{"):
            out += f"(?:{piece[2:-2]})"
        else:
            out += re.sub(r"(?:\\[ \t])+", r"[ \\t]+", re.escape(piece))
    start = r"(?<!\w)" if re.match(r"\w", text) else ""
    end = r"(?!\w)" if re.search(r"\w$", text) else ""
    return re.compile(start + out + end)


def _excerpt(lines: list[str], position: int) -> str:
    first = max(0, position - 3)
    shown = [
        f"{'>' if number == position else ' '} {number + 1:4} | {lines[number]}"
        for number in range(first, min(len(lines), position + 12))
    ]
    return "\n".join(shown) if shown else "  (no output)"


def _fail(directive: Directive, what: str, lines: list[str], position: int) -> Mismatch:
    return Mismatch(f"{directive}\n{what}\n{_excerpt(lines, position)}")


def _first(pattern: re.Pattern[str], lines: list[str], begin: int, end: int) -> int | None:
    return next((i for i in range(begin, min(end, len(lines))) if pattern.search(lines[i])), None)


def check(test: str, output: str) -> None:
    """Raises Mismatch unless every directive of `test` holds in `output`."""
    wanted, lines = directives(test), output.splitlines()
    if not wanted:
        raise Mismatch("the file has no CHECK line, so it would check nothing")
    position, names, forbidden, matched = 0, {}, [], False

    def check_forbidden(end: int) -> None:
        for one in forbidden:
            at = _first(compile_pattern(one.text, names), lines, position, end)
            if at is not None:
                raise _fail(one, f"is there, in output line {at + 1}", lines, at)
        forbidden.clear()

    for directive in wanted:
        if directive.kind == "-NOT":
            forbidden.append(directive)
            continue
        if directive.kind == "-NEXT" and not matched:
            raise Mismatch(f"{directive}\nneeds a CHECK before it")
        pattern = compile_pattern(directive.text, names)
        end = position + 1 if directive.kind == "-NEXT" else len(lines)
        at = _first(pattern, lines, position, end)
        if at is None:
            where = "output line" if directive.kind == "-NEXT" else "any line from output line"
            raise _fail(directive, f"is not in {where} {position + 1}", lines, position)
        check_forbidden(at)
        names.update(pattern.search(lines[at]).groupdict())
        position, matched = at + 1, True
    check_forbidden(len(lines))
