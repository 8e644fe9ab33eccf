# SPDX-License-Identifier: Apache-2.0
# refusals.py: Python that kernels do not have: what it is called and what to do instead.
"""Tables of refused syntax: node name -> (name in messages, remedy)."""

REFUSED_STATEMENTS = {
    "Try": ("try", "test the condition with `if` instead"),
    "TryStar": ("try", "test the condition with `if` instead"),
    "Raise": ("raise", "use `assert condition, message`"),
    "With": ("with", "do that on the host, around the launch"),
    "AsyncWith": ("async with", "do that on the host, around the launch"),
    "AsyncFor": ("async for", "use a plain `for`"),
    "AsyncFunctionDef": ("async def", "define a plain function with @wp.func"),
    "Global": ("global", "pass the value in an array parameter and write it there"),
    "Nonlocal": ("nonlocal", "return the value instead"),
    "Delete": ("del", "leave the variable alone; a kernel's variables end with it"),
    "Import": ("import", "import at the top of the module; math.*, np.* and wp.* are known"),
    "ImportFrom": ("import", "import at the top of the module; math.*, np.* and wp.* are known"),
    "ClassDef": ("class", "define a @wp.struct outside of the kernel"),
    "Match": ("match", "use if / elif / else"),
    "TypeAlias": ("type", "define the type outside of the kernel"),
}

# code, name, remedy
REFUSED_EXPRESSIONS = {
    "List": (
        "WT010",
        "a list",
        "use a vector (wp.vec3(...)), a tuple, or a local array: "
        "wp.zeros(shape=N, dtype=float) with constant N",
    ),
    "Dict": ("WT010", "a dict", "use a @wp.struct"),
    "Set": ("WT010", "a set", "use a tuple, or a local array of flags"),
    "ListComp": ("WT010", "a comprehension", "write a `for` loop over a local array"),
    "SetComp": ("WT010", "a comprehension", "write a `for` loop"),
    "DictComp": ("WT010", "a comprehension", "write a `for` loop"),
    "GeneratorExp": ("WT010", "a comprehension", "write a `for` loop"),
    "Yield": ("WT012", "yield", "return the values, or store them in an array"),
    "YieldFrom": ("WT012", "yield", "return the values, or store them in an array"),
    "Await": ("WT012", "await", "do that on the host"),
    "NamedExpr": ("WT019", "`:=`", "assign in a statement of its own"),
    "JoinedStr": (
        "WT013",
        "a string",
        "strings may stand only in print() and as the message of assert",
    ),
}
