# SPDX-License-Identifier: Apache-2.0
# modules.py: what is known of each Python module that declares kernels: options and names.
"""Modules, their options, and loading of everything in them ahead of the first launch."""

from __future__ import annotations

import sys
import types

from warp_torch import config
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, nearest

__all__ = [
    "Module",
    "force_load",
    "get_module",
    "get_module_options",
    "load_module",
    "set_module_options",
]

_DEFAULTS = {
    "enable_backward": None,  # None: as config.enable_backward says
    "mode": None,
    "max_unroll": None,  # None: loops stay as they are
    "fast_math": False,
    "fuse_fp": None,
    "lineinfo": None,
    "block_dim": 256,
    "launch_bounds": None,
    "cuda_max_registers": None,
    "cuda_output": None,
    "optimization_level": None,
    "strip_hash": False,
    "deterministic": False,
    "deterministic_max_records": 0,
    "grid_stride": None,
    "default_grid_stride": None,
    "cluster_dim": None,
    "cpu_compiler_flags": None,
    "enable_cuda_smem_spilling": None,
    "enable_mathdx_fft": None,
    "enable_mathdx_solver": None,
    "entry_point_abi": None,
    "extra_build_options": None,
    "compile_time_trace": False,
    "enable_mathdx_gemm": True,
    "python_mod": False,
    "python_div": False,
    "verify_fp": None,
}
_modules = {}


class Module:
    """The kernels and functions that one Python module declares.

    Attributes: name, options, kernels and functions (name -> object).
    """

    def __init__(self, name):
        self.name = name
        self.options = dict(_DEFAULTS)
        self.kernels = {}
        self.functions = {}

    def load(self, device=None, block_dim=None):
        """Compiles every kernel that has its types. Returns this module."""
        for kernel in list(self.kernels.values()):
            kernel.load(device)
        return self

    def unload(self):
        """Does nothing: a loaded kernel lives as long as its object."""

    def mark_modified(self):
        """Does nothing: kernels are compiled when their text changes."""

    def __repr__(self):
        return f"<module {self.name}: {len(self.kernels)} kernels>"


def get_module(name):
    """The Module of a Python module's name; made on first use."""
    if name not in _modules:
        _modules[name] = Module(name)
    return _modules[name]


def get_module_of(module):
    """The Module of a Python module, its name, or itself."""
    return _of(module)


def _of(module, depth=2):
    if module is None:
        return get_module(sys._getframe(depth).f_globals.get("__name__", "__main__"))
    if isinstance(module, Module):
        return module
    if isinstance(module, types.ModuleType):
        return get_module(module.__name__)
    if isinstance(module, str):
        return get_module(module)
    raise ArgumentTypeError(
        f"a module: wanted a Python module or its name, got {module!r}", code="WT714"
    )


def checked_options(options, who):
    """``options`` if all of them are known."""
    if options.get("stack_size") is not None:
        raise ArgumentValueError(
            f"{who}: stack_size is not an option: the driver gives the threads the memory "
            "that its local arrays need; build(kernel) reports how much",
            hint="leave it away",
            code="WT603",
        )
    for name in options:
        if name not in _DEFAULTS and name != "stack_size":
            near = nearest(name, _DEFAULTS)
            raise ArgumentValueError(
                f"{who}: there is no option {name!r}"
                + (f"; did you mean {near!r}?" if near else ""),
                code="WT603",
            )
    return options


def set_module_options(options, module=None):
    """Options of the kernels that the module declares from here on; the caller's module if none
    is given."""
    checked_options(options, "set_module_options()")
    _of(module).options.update(options)


def get_module_options(module=None):
    """A copy of the module's options; those that follow ``config`` are as that says now."""
    options = dict(_of(module).options)
    if options["enable_backward"] is None:
        options["enable_backward"] = config.enable_backward
    if options["max_unroll"] is None:
        options["max_unroll"] = config.max_unroll
    return options


def load_module(module=None, device=None, recursive=False, block_dim=None, max_workers=None):
    """Compiles the kernels of a module for a device, ahead of their first launch.

    Args:
        module: a Python module, its name or a Module; the caller's if not given.
        device: a device or a list of them; the default device if not given.
        recursive: the modules under it too.
        block_dim, max_workers: accepted for code written for Warp.
    """
    found = _of(module)
    chosen = [found]
    if recursive:
        chosen += [m for name, m in _modules.items() if name.startswith(found.name + ".")]
    _load(chosen, device)


def force_load(device=None, modules=None, block_dim=None, max_workers=None):
    """Compiles the kernels of the given modules, of all if none are given."""
    _load([_of(m) for m in modules] if modules is not None else list(_modules.values()), device)


def _load(modules, device):
    for d in device if isinstance(device, (list, tuple)) else [device]:
        for m in modules:
            m.load(d)
