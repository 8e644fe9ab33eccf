# SPDX-License-Identifier: Apache-2.0
# write_stubs.py: writes python/warp_torch/*.pyi, what type checkers know of the package: functions
# and classes as they are at run time, builtins from their table, types of the kernel language by
# stub_types.pyi. `--check` compares with what is there.
import builtins as builtin_names
import enum
import inspect
import pathlib
import re
import types

import warp_torch as wt
from warp_torch import _C, scope
from written_files import write_or_check

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "python/warp_torch"
HEAD = """# SPDX-License-Identifier: Apache-2.0
# {name}: for type checkers; written by scripts/write_stubs.py.
# mypy: ignore-errors
"""
LANGUAGE = (ROOT / "scripts/stub_types.pyi").read_text().split("# ---\n", 1)[1]

# What calls give, where it is no Any.
RESULTS = {
    **dict.fromkeys(("clone", "empty_like", "full_like", "ones_like", "zeros_like"), "array[Any]"),
    **dict.fromkeys(
        ("from_numpy", "from_torch", "from_dlpack", "from_jax", "from_ptr"), "array[Any]"
    ),
    **dict.fromkeys(("get_device", "get_cuda_device", "get_preferred_device"), "Device"),
    **dict.fromkeys(("get_devices", "get_cuda_devices"), "list[Device]"),
    "get_cuda_device_count": "int",
    "get_stream": "Stream",
    "kernel_op": "KernelOp",
    "rollout": "Rollout",
}
KINDS = {
    "F": "Number", "S": "Number", "I": "Number", "B": "bool", "bool": "bool", "i32": "int",
    "u32": "int", "i64": "int", "u64": "int", "i16": "int", "i8": "int", "u16": "int", "u8": "int",
    "f32": "float", "f64": "float64", "f16": "float16", "bf16": "bfloat16",
}  # fmt: skip
CLASSES = {"vec": "Vector", "mat": "Matrix", "quat": "Quaternion", "xform": "Transform"}


def written_in_language():
    """Names that stub_types.pyi declares."""
    return set(re.findall(r"^(?:class|def|(?=\w+ *[:=])) *(\w+)", LANGUAGE, re.MULTILINE))


# Signatures of Python functions and classes.
def default(value):
    if (
        value is None
        or isinstance(value, (bool, int, float, str))
        and not isinstance(value, enum.Enum)
    ):
        text = repr(value)
        return text if text not in ("inf", "nan", "-inf") else "..."
    return "..."


def parameters(f, skip_first=False):
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return ("self, " if skip_first else "") + "*args: Any, **kwargs: Any"
    out, keyword_only = [], False
    for i, p in enumerate(signature.parameters.values()):
        if p.kind is p.VAR_POSITIONAL:
            keyword_only = True
            out.append(f"*{p.name}: Any")
            continue
        if p.kind is p.VAR_KEYWORD:
            out.append(f"**{p.name}: Any")
            continue
        if p.kind is p.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            out.append("*")
        if skip_first and i == 0:
            out.append(p.name)
            continue
        value = "" if p.default is p.empty else f" = {default(p.default)}"
        out.append(f"{p.name}: Any{value}")
    return ", ".join(out)


def documented(f):
    """The first paragraph of a docstring, on one line."""
    text = (inspect.getdoc(f) or "").split("\n\n")[0].replace("\n", " ").replace("\\", "\\\\")
    return text.replace('"""', "'''")


def function(name, f, indent=""):
    doc = documented(f)
    head = f"{indent}def {name}({parameters(f)}) -> {RESULTS.get(name, 'Any')}: "
    return head + (f'\n{indent}    """{doc}"""' if doc else "...")


def member(name, value, indent="    "):
    """One line or two of a class's attribute."""
    if isinstance(value, property) or inspect.isdatadescriptor(value):
        return f"{indent}{name}: Any"
    if isinstance(value, (staticmethod, classmethod)):
        kind = type(value).__name__
        f = value.__func__
        text = parameters(f, skip_first=kind == "classmethod")
        return f"{indent}@{kind}\n{indent}def {name}({text}) -> Any: ..."
    if callable(value):
        result = {"__enter__": "Self", "__init__": "None", "__exit__": "None"}.get(name, "Any")
        text = parameters(value, skip_first=True)
        return f"{indent}def {name}({text}) -> {result}: ..."
    return f"{indent}{name}: Any"


def klass(name, cls):
    bases = [b.__name__ for b in cls.__bases__ if b is not object]
    bases = [b for b in bases if b in wt.__all__ or hasattr(builtin_names, b)]
    out = [f"class {name}({', '.join(bases)}):" if bases else f"class {name}:"]
    if documented(cls):
        out.append(f'    """{documented(cls)}"""')
    shown = ("__init__", "__call__", "__enter__", "__exit__", "__getitem__", "__len__", "__iter__")
    seen = {}
    for base in reversed(
        [c for c in cls.__mro__ if c is not object and c.__module__ != "builtins"]
    ):
        if base.__name__ not in bases:
            seen.update(vars(base))
    for n, value in sorted(seen.items()):
        if not n.startswith("_") or n in shown:
            out.append(member(n, value))
    if len(out) == 1:
        out.append("    ...")
    if "__init__" not in seen or issubclass(cls, BaseException):
        out.append("    def __getattr__(self, name: str) -> Any: ...")
    else:
        names = set(re.findall(r"self\.(\w+)\b[^=\n(]*=", source_of(cls)))
        out += [f"    {n}: Any" for n in sorted(names) if not n.startswith("_") and n not in seen]
    return "\n".join(out)


def source_of(cls):
    try:
        return inspect.getsource(cls)
    except (OSError, TypeError):
        return ""


# Builtins.
def split_parameters(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c in "<(") - (c in ">)")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [p for p in parts if p]


def builtin_type(text, result):
    """Python type of a parameter; `result` is the text of the row's result."""
    text = text.removeprefix("inout ")
    if text == result and "<" in text and not text.startswith("array"):
        return f"{CLASSES.get(text.split('<')[0], 'Any')}T"
    if text in KINDS:
        return "AnyNumber" if text == result and KINDS[text] == "Number" else KINDS[text]
    head = text.split("<")[0]
    if head in CLASSES:
        inner = text.rstrip(">").split(",")[-1].split("<")[-1]
        return f"{CLASSES[head]}[{'AnyNumber' if inner == result else 'Any'}]"
    return "array[Any]" if head == "array" else "Any"


def builtin_result(text, params):
    if not text:
        return "None"
    if text in ("F", "S", "I"):
        return "AnyNumber" if any(text in re.findall(r"\w+", p) for p in params) else "Any"
    if "<" in text and text in params:
        return f"{CLASSES.get(text.split('<')[0], 'Any')}T"
    return KINDS.get(text, "Any")


def signature(sig):
    """(parameters, result) of a row, in Python."""
    inner, _, result = sig.rpartition(") -> ") if ") -> " in sig else (sig.rstrip(")"), "", "")
    params = split_parameters(inner.lstrip("("))
    texts = [p.split(": ", 1)[1].split(" = ")[0] for p in params]
    names = [p.split(": ", 1)[0] for p in params]
    given = ["" if " = " not in p else " = ..." for p in params]
    shown = [f"{n}: {builtin_type(t, result)}{g}" for n, t, g in zip(names, texts, given)]
    return ", ".join(shown), builtin_result(result.strip(), texts)


def builtins(skip):
    rows = {}
    for row in _C.builtin_rows():
        rows.setdefault(row["name"], []).append(row)
    out = []
    for name in sorted(set(rows) | scope.SPECIAL_BUILTINS):
        if name in skip or name.startswith("_") or not name.isidentifier():
            continue
        made = dict.fromkeys(signature(r["sig"]) for r in rows.get(name, ()))
        if not made or name in scope.SPECIAL_BUILTINS:
            out.append(f"def {name}(*args: Any, **kwargs: Any) -> Any: ...")
            continue
        for params, result in made:
            over = "@_overload\n" if len(made) > 1 else ""
            out.append(f"{over}def {name}({params}) -> {result}: ...")
    return out


def value(name, v):
    """One public name."""
    if isinstance(v, types.ModuleType):
        return f"from . import {name} as {name}"
    if inspect.isclass(v):
        own = v.__name__
        return f"{name} = {own}" if own != name and own in wt.__all__ else klass(name, v)
    if inspect.isfunction(v):
        return function(name, v)
    return f"{name}: {type(v).__name__ if isinstance(v, (int, float, str)) else 'Any'}"


def package():
    language = written_in_language()
    out = [LANGUAGE]
    for name in wt.__all__:
        v = getattr(wt, name)
        if name in language or name == "Any":
            continue
        if getattr(v, "wt_kind", "") == "composite":
            continue
        out.append(value(name, v))
    out += composites()
    out += builtins({*wt.__all__, *language})
    out.append("def map(func: Any, *inputs: Any, **kwargs: Any) -> Any: ...")
    out.append("__version__: str")
    return "\n".join(out) + "\n"


def composites():
    out = []
    for name in wt.__all__:
        v = getattr(wt, name)
        if getattr(v, "wt_kind", "") != "composite":
            continue
        scalar = {"float32": "float", "int32": "int"}.get(v.dtype.__name__, v.dtype.__name__)
        own = v.__name__
        if own != name and own in wt.__all__:
            out.append(f"{name} = {own}")
        else:
            out.append(f"class {name}({CLASSES[v.family]}[{scalar}]): ...")
    return sorted(out, key=lambda line: line.startswith("class "), reverse=True)


def module(m, names):
    out = ["from typing import Any", "from typing_extensions import Self", "from . import *", ""]
    out += [value(n, getattr(m, n)) for n in names]
    return "\n".join(out) + "\n"


def config():
    out = ["from typing import Any", ""]
    for name in sorted(wt.config._NAMES):
        v = getattr(wt.config, name)
        kind = type(v).__name__ if isinstance(v, (bool, int, str)) else "Any"
        out.append(f"{name}: {kind}")
    return "\n".join(out) + "\n"


def files():
    types_names = [n for n in wt.types.__all__ if n in wt.__all__]
    listed = ", ".join(f"{n} as {n}" for n in types_names)
    queries = [n for n in dir(wt.types) if not n.startswith("_") and n not in types_names]
    queries = [n for n in queries if inspect.isfunction(getattr(wt.types, n))]
    return {
        "__init__.pyi": package(),
        "config.pyi": config(),
        "types.pyi": f"from . import {listed}\n" + module(wt.types, queries),
        "utils.pyi": module(wt.utils, wt.utils.__all__),
        "autograd.pyi": module(wt.autograd, wt.autograd.__all__),
        "optim.pyi": "from . import linear_solvers as linear\n"
        + module(wt.optim, [*wt.optim.__all__, "Adam", "SGD"]),
    }


def main():
    for name, text in files().items():
        write_or_check(FOLDER / name, HEAD.format(name=name) + text)


if __name__ == "__main__":
    main()
