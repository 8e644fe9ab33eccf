# SPDX-License-Identifier: Apache-2.0
# building.py: build() compiles kernels ahead of their first launch, through passes one chooses.
"""Compiling on request, with a report; passes written in Python."""

from __future__ import annotations

import dataclasses
import time
import types

from warp_torch import _C, config
from warp_torch.device import device_alias
from warp_torch.errors import ArgumentTypeError, ArgumentValueError
from warp_torch.modules import Module, get_module_of

__all__ = ["BuildReport", "IRModule", "KernelReport", "build", "ir_passes", "register_ir_pass"]

_python_passes = {}


class IRModule(str):
    """The text of a kernel's IR, as a pass sees it: a str that can count its ops."""

    @property
    def text(self):
        """The text as a plain str."""
        return str(self)

    def op_count(self, op):
        """Number of ops of that name."""
        return sum(_op_name(line) == op for line in self.splitlines())


def _op_name(line):
    """The op's name in one line of IR text, or None."""
    text = line.strip()
    if text.startswith("%"):
        text = text.partition("=")[2].strip()
    name = ""
    for c in text:
        if not (c.isalnum() or c == "_"):
            break
        name += c
    return name or None


def register_ir_pass(name, fn=None):
    """Makes ``fn`` a pass that ``build(ir_passes=[name, ...])`` can run.

    Args:
        name: what it is called; names of built-in passes are taken.
        fn: a function from an IRModule (the text of one kernel) to the text that replaces it, or
            to None to leave it. It may rewrite the kernel's body, not its name or parameters. The
            result is parsed and verified. Without ``fn`` this is a decorator.
    """
    if fn is None:
        return lambda f: register_ir_pass(name, f)
    if not callable(fn):
        raise ArgumentTypeError(
            f"register_ir_pass({name!r}): got a {type(fn).__name__}, wanted a function from IR "
            "text to IR text",
            code="WT717",
        )
    if _plain(name) in _builtin_names():
        raise ArgumentValueError(
            f"register_ir_pass({name!r}): a built-in pass has this name; choose another",
            code="WT717",
        )
    _python_passes[name] = fn
    return fn


def _plain(name):
    return name.replace("-", "_")


def _builtin_names():
    return {row["name"] for row in _C.pass_rows()}


def ir_passes():
    """Names of the passes that ``build(ir_passes=[...])`` knows, with one line on each."""
    rows = {row["name"]: row["doc"] for row in _C.pass_rows()}
    rows.update({n: (f.__doc__ or "").strip().split("\n")[0] for n, f in _python_passes.items()})
    return rows


@dataclasses.dataclass
class KernelReport:
    """What building one kernel took, and what the kernel takes.

    Attributes:
        key: the kernel's name.
        passes: one dict a pass: name, seconds, changed, ops (of the kernel, afterwards).
        compile_seconds: compiling and loading the forward form for ``device``; small when cached.
        cuda: per form ("forward", "adjoint"): registers, stack_bytes, spill_stores, spill_loads
            and shared_bytes for ``arch``; empty where there is no CUDA compiler.
        arch: the architecture of ``cuda``.
    """

    key: str
    passes: list
    compile_seconds: float
    device: str
    cuda: dict = dataclasses.field(default_factory=dict)
    arch: str = ""

    def __str__(self):
        lines = [f"kernel {self.key}: {self.compile_seconds * 1e3:.1f} ms for {self.device}"]
        for p in self.passes:
            mark = "" if p["changed"] else "  (unchanged)"
            lines.append(f"  {p['name']:<14} {p['seconds'] * 1e3:8.3f} ms  {p['ops']:6} ops{mark}")
        for form, r in self.cuda.items():
            lines.append(
                f"  {form} on {self.arch}: {r['registers']} registers, {r['stack_bytes']} bytes of "
                f"stack, {r['spill_stores']} + {r['spill_loads']} bytes of spills, "
                f"{r['shared_bytes']} bytes of shared memory"
            )
        return "\n".join(lines)


class BuildReport(list):
    """A list of KernelReport; prints as a table."""

    def __str__(self):
        return "\n".join(str(r) for r in self)


_OPTIONS = (
    "mode",
    "arch",
    "block_dim",
    "cuda_max_registers",
    "deterministic",
    "enable_backward",
    "fast_math",
    "fuse_fp",
    "launch_bounds",
    "lineinfo",
    "max_unroll",
)


def _kernels_of(given):
    """The kernels among kernels and modules, alone or in a sequence."""
    if getattr(given, "wt_kind", None) == "kernel":
        return [given]
    if isinstance(given, (str, Module, types.ModuleType)):
        return list(get_module_of(given).kernels.values())
    try:
        items = list(given)
    except TypeError:
        raise ArgumentTypeError(
            f"build(): got {given!r}, wanted kernels or modules that declare some", code="WT714"
        ) from None
    return [kernel for item in items for kernel in _kernels_of(item)]


def build(kernels, options=None, ir_passes=(), device=None, verbose=False):
    """Compiles kernels now instead of at their first launch.

    Args:
        kernels: a kernel, a module (or its name), or a sequence of them; generic kernels are built
            for the types of their overloads, or else at their launches.
        options: options of kernels, which these have from here on, and ``arch`` (such as "sm_90"),
            the architecture of the report.
        ir_passes: names of passes, run in this order on each kernel's optimised IR. All forms of
            the kernel, its gradients too, are then made of what they give. The default passes
            have run before and run after. ``warp_torch.ir_passes()`` lists the names.
        device: where to load; the default device if not given.
        verbose: print the report.

    Returns:
        A BuildReport.

    Raises:
        ArgumentValueError: an unknown pass or option, or a pass that returned no valid kernel.
    """
    options = dict(options or {})
    for name in options:
        if name not in _OPTIONS:
            raise ArgumentValueError(
                f"build(options=...): no option is called {name!r}; there are: "
                + ", ".join(_OPTIONS),
                code="WT603",
            )
    names = [_known(name) for name in ir_passes]
    report = BuildReport()
    arch = options.pop("arch", "sm_90")
    for kernel in _kernels_of(kernels):
        if options:
            kernel.set_options(options)
        for compiled in kernel.change_instances(lambda k: _change(k, names)):
            report.append(_report(kernel, compiled, device, arch))
    if verbose:
        print(report)
    return report


def _known(name):
    if name in _python_passes:
        return name
    if _plain(name) in _builtin_names():
        return _plain(name)
    raise ArgumentValueError(
        f"build(ir_passes=...): no pass is called {name!r}; there are: "
        + ", ".join(ir_passes())
        + ". register_ir_pass() adds one.",
        code="WT717",
    )


def _change(compiled, names):
    """The instance after the passes, and what they took."""
    if not names:
        return compiled, _C.pass_times(compiled)
    wrapped = {n: _as_text(f) for n, f in _python_passes.items() if n in names}
    times = []
    return _C.changed_kernel(compiled, names, wrapped, times), _C.pass_times(compiled) + times


def _as_text(fn):
    def run(text):
        made = fn(IRModule(text))
        if made is None or isinstance(made, str):
            return made
        text = getattr(made, "text", None)
        if isinstance(text, str):
            return text
        raise ArgumentTypeError(
            f"pass {getattr(fn, '__name__', fn)!r} returned a {type(made).__name__}, "
            "wanted IR text",
            code="WT717",
        )

    return run


def _report(kernel, changed, device, arch):
    compiled, passes = changed
    alias = device_alias(device)
    start = time.perf_counter()
    compiled.load(alias)
    out = KernelReport(kernel.key, passes, time.perf_counter() - start, alias, arch=arch)
    for form in ("forward", "adjoint"):
        mask = kernel.mask() if form == "adjoint" else []
        try:
            text = compiled.source("cuda", form, mask, arch)
            out.cuda[form] = _C.cuda_resources(text, f"{kernel.key}_{form}", arch)
        except Exception as e:  # no CUDA compiler, or no derivative: the report goes without
            if config.verbose:
                print(f"build of {kernel.key}: no report of the {form} form on {arch}: {e}")
    return out
