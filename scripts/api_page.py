# SPDX-License-Identifier: Apache-2.0
# api_page.py: writes docs/api.md, the reference of all public names, from their docstrings;
# builtins have docs/builtins.md. `--check` compares.
import inspect
import pathlib
import re
import types

import warp_torch as wt
from written_files import write_or_check

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs/api.md"
HEAD = """<!-- SPDX-License-Identifier: Apache-2.0 -->
# API

Written by scripts/api_page.py from the docstrings. Names of the kernel language are in
[builtins](builtins.md) and [the kernel language](language.md). Shapes are in elements, strides in
bytes, times in milliseconds and sizes of memory in bytes unless said otherwise. Wrong arguments
raise `ArgumentTypeError` (dtype, kind) or `ArgumentValueError` (shape, range); [errors](errors.md)
has all codes.
"""
# Title of a section: the modules whose names it holds.
SECTIONS = {
    "Kernels": ("kernel", "functions", "modules", "startup", "host_call", "building"),
    "Arrays": ("array", "array_making", "indexed_array", "interop", "jax_interop"),
    "Gradients": ("tape", "derivatives", "gradient_checks"),
    "PyTorch": ("op", "autograd_function", "rollout"),
    "Devices, streams, graphs": ("device", "graphs", "memory_pools"),
    "Messages and reports": ("diagnostics", "messages"),
    "Timing": ("timing", "profiling"),
    "Types": ("structs", "values", "basic_types", "type_queries"),
    "Errors": ("errors",),
}
GROUPS = ("Args", "Returns", "Raises", "Attributes")


def sections():
    """{title: [(name, object)]}, all public names, each once."""
    where = {m: title for title, modules in SECTIONS.items() for m in modules}
    out = {title: [] for title in [*SECTIONS, "Constants"]}
    for name in wt.__all__:
        v = getattr(wt, name)
        if isinstance(v, types.ModuleType) or getattr(v, "wt_kind", "") == "composite":
            continue
        if isinstance(v, (int, float)):
            out["Constants"].append((name, v))
            continue
        module = getattr(v, "__module__", "") or ""
        title = where.get(module.split(".")[-1], "Types")
        out[title].append((name, v))
    return out


def signature(name, v):
    try:
        text = str(inspect.signature(v))
    except (TypeError, ValueError):
        return name
    text = re.sub(r"<[^<>]*>", "...", re.sub(r"<(\w+ )?object at 0x\w+>", "...", text))
    return name + text.split(" -> ")[0]


def markdown(text):
    """A docstring in Google's form as Markdown."""
    out, group = [], None
    for line in text.splitlines():
        head = re.match(r"^(\w+):$", line)
        if head and head[1] in GROUPS:
            group = head[1]
            out += ["", f"**{group}**", ""]
            continue
        if group and line and not line.startswith(" "):
            group = None
        item = group and re.match(r"^    ([\w, .*`]+): (.*)$", line)
        if item:
            line = f"- `{item[1].strip('`')}`: {item[2]}"
        elif group and line.startswith("    "):
            line = ("  " if line.startswith("        ") else "") + line.strip()
        out.append(line.replace("``", "`"))
    return "\n".join(out).strip()


def members(cls):
    """Methods and properties of a class with a docstring of their own."""
    out = []
    own = [c for c in cls.__mro__ if c.__module__.startswith("warp_torch")]
    for n in sorted({n for c in own for n in vars(c)}):
        if n.startswith("_"):
            continue
        v = inspect.getattr_static(cls, n)
        v = v.__func__ if isinstance(v, (staticmethod, classmethod)) else v
        text = inspect.getdoc(v)
        if not text or not (callable(v) or isinstance(v, property)):
            continue
        shown = signature(n, v).replace("(self, ", "(").replace("(self)", "()")
        first = " ".join(text.split("\n\n")[0].split()).replace("``", "`")
        out.append(f"- `{shown if callable(v) else n}`: {first}")
    return out


def entry(name, v):
    out = [f"### {name}", ""]
    if inspect.isclass(v) and v.__name__ != name and v.__name__ in wt.__all__:
        return [*out, f"Another name of `{v.__name__}`.", ""]
    if name == "DeviceLike":
        return [*out, "What takes a device takes these: a `Device`, its name, or None.", ""]
    if inspect.isclass(v) or callable(v):
        out += ["```python", signature(name, v), "```", ""]
    text = inspect.getdoc(v if inspect.isclass(v) or inspect.isroutine(v) else type(v)) or ""
    out += [markdown(text), ""]
    if inspect.isclass(v) and not issubclass(v, Exception):
        out += [*members(v), ""]
    return out


def modules():
    out = ["## Modules", ""]
    for name in wt.__all__:
        m = getattr(wt, name)
        if not isinstance(m, types.ModuleType):
            continue
        out += [f"### {name}", "", markdown(inspect.getdoc(m) or ""), ""]
        listed = [] if name in ("config", "errors") else sorted(getattr(m, "__all__", ()))
        for n in listed:
            v = getattr(m, n)
            if n in wt.__all__ and getattr(wt, n) is v:
                continue
            first = " ".join((inspect.getdoc(v) or "").split("\n\n")[0].split())
            out.append(f"- `{signature(n, v) if callable(v) else n}`: {first.replace('``', '`')}")
        out.append("")
    return out


def composites():
    """Vectors, matrices, quaternions and transforms: one line a family."""
    families = {}
    for name in wt.__all__:
        v = getattr(wt, name)
        if getattr(v, "wt_kind", "") == "composite":
            families.setdefault(v.family, []).append(name)
    out = ["### Vectors, matrices, quaternions, transforms", ""]
    out.append("`types.vector(n, dtype)` and `types.matrix((rows, columns), dtype)` make others.")
    lines = ("- " + ", ".join(f"`{n}`" for n in names) for names in families.values())
    return [*out, "", *lines, ""]


def page():
    out = [HEAD]
    for title, names in sections().items():
        out += [f"## {title}", ""]
        if title == "Constants":
            out += [*(f"- `{n}`: {v!r}" for n, v in names), ""]
            continue
        for name, v in names:
            out += entry(name, v)
        if title == "Types":
            out += composites()
    out += modules()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).rstrip() + "\n"


if __name__ == "__main__":
    write_or_check(PAGE, page())
