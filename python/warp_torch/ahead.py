# SPDX-License-Identifier: Apache-2.0
# ahead.py: bundles of a module's kernels, compiled for other machines: they load with no compiler.
"""Ahead-of-time compilation: of modules, and of ops for programs without Python."""

from __future__ import annotations

import os
import pathlib

import torch

from warp_torch import _C, config
from warp_torch.device import get_device
from warp_torch.errors import ArgumentTypeError, ArgumentValueError
from warp_torch.modules import get_module_of
from warp_torch.op import torch_library

__all__ = ["compile_aot_module", "load_aot_module", "load_ops", "save_ops"]

_CPU_ARCHITECTURES = ("x86-64-v3", "x86-64")


def _mask(kernel):
    """Which parameters carry gradients in the bundle."""
    whole = kernel.mask()
    return whole if kernel.enable_backward else [False] * len(whole)


def _compiled(module):
    """(_C.Kernel, mask) of what the module declares with settled types."""
    out = []
    for kernel in module.kernels.values():
        made = list(kernel.overloads.values()) if kernel.is_generic else [kernel]
        out.extend((k.specialise(), _mask(k)) for k in made)
    if not out:
        raise ArgumentValueError(
            f"compile_aot_module(): module {module.name} has no kernel with settled types; "
            "give generic kernels an overload()",
            code="WT644",
        )
    return out


def _targets(device, arch, use_ptx, who):
    """(target, architecture) pairs: ("cpu", "x86-64-v3"), ("cuda", "sm_90"), ("cuda",
    "compute_90")."""
    devices = device if isinstance(device, (list, tuple)) else [device]
    architectures = [arch] if isinstance(arch, (int, str)) or arch is None else list(arch)
    out = []
    if arch is None or device is not None:
        for d in devices:
            found = get_device(d)
            if not found.is_cuda:
                own = _C.host_arch()
                out += [("cpu", a) for a in dict.fromkeys((own, *_CPU_ARCHITECTURES))]
            elif arch is None:
                architectures = [found.arch]
    for a in architectures:
        if a is None:
            continue
        text = str(a)
        number = text.rpartition("_")[2]
        if not number.isdigit() or text.rpartition("_")[0] not in ("", "sm", "compute"):
            raise ArgumentValueError(
                f'{who}(arch={a!r}): wanted a number such as 90, or "sm_90"', code="WT716"
            )
        if use_ptx is not True:
            out.append(("cuda", f"sm_{number}"))
        if use_ptx is not False:
            out.append(("cuda", f"compute_{number}"))
    return list(dict.fromkeys(out))


def _path(folder, module, target, arch):
    return pathlib.Path(folder) / f"{module.name}.{target}-{arch}.wtb"


def _folder(module_dir, module):
    if module_dir is not None:
        return os.fspath(module_dir)
    root = config.kernel_cache_dir or os.path.join(os.path.expanduser("~"), ".cache", "warp_torch")
    return os.path.join(root, "ahead", module.name)


def compile_aot_module(
    module, device=None, arch=None, module_dir=None, use_ptx=None, strip_hash=None
):
    """Compiles a module's kernels, with their gradients, for machines that have no compiler.

    Args:
        module: a Python module, its name or a Module.
        device: a device or a list of them whose architecture to compile for; the default device if
            neither this nor ``arch`` is given. For "cpu" the bundles are for this processor, for
            x86-64-v3 and for the baseline.
        arch: CUDA architectures, such as ``90`` or ``[80, 90]``. No GPU is needed.
        module_dir: folder of the bundles; one in the kernel cache if not given.
        use_ptx: True for PTX alone, False for cubins alone; both if not given.
        strip_hash: accepted for code written for Warp; names follow from what a kernel holds.

    Returns:
        The paths of the bundles, in order of the targets.

    Raises:
        ArgumentTypeError: not a module.
        ArgumentValueError: no kernel with settled types, or an architecture that is none.
    """
    found = get_module_of(_checked(module, "compile_aot_module"))
    targets = _targets(device, arch, use_ptx, "compile_aot_module")
    folder = _folder(module_dir, found)
    os.makedirs(folder, exist_ok=True)
    kernels, masks = zip(*_compiled(found), strict=True)
    paths = []
    for target, made_for in targets:
        path = _path(folder, found, target, made_for)
        _C.save_kernels(os.fspath(path), kernels, masks, (target, made_for))
        paths.append(path)
    return paths


def load_aot_module(module, device=None, arch=None, module_dir=None, use_ptx=None, strip_hash=None):
    """Loads what ``compile_aot_module`` made: from here on the module's kernels are taken from
    there, and no compiler is asked for them.

    Args:
        module, module_dir, use_ptx: as there.
        device: where to load; the default device if not given.
        arch: load the bundle of this architecture instead of the best for the device.
        strip_hash: accepted for code written for Warp.

    Raises:
        FileNotFoundError: there is no bundle that the device takes.
    """
    found = get_module_of(_checked(module, "load_aot_module"))
    folder = _folder(module_dir, found)
    devices = device if isinstance(device, (list, tuple)) else [device]
    for d in devices:
        place = get_device(d)
        tried = []
        for path in _candidates(folder, found, place, arch, use_ptx):
            tried.append(path)
            if path.exists():
                _C.load_kernels(os.fspath(path))
                break
        else:
            raise FileNotFoundError(
                f"load_aot_module({found.name}): no bundle for {place.alias} in {folder}; looked "
                "for " + ", ".join(p.name for p in tried)
            )
        found.load(place.alias)


def _candidates(folder, module, device, arch, use_ptx):
    """Paths of bundles that the device may take, the best first."""
    if not device.is_cuda:
        own = _C.host_arch()
        names = [a for a in dict.fromkeys((own, *_CPU_ARCHITECTURES)) if _C.host_runs(a)]
        return [_path(folder, module, "cpu", a) for a in names]
    number = int(str(arch if arch is not None else device.arch).rpartition("_")[2])
    older = [n for n in range(number, 49, -1)]
    cubins = [f"sm_{n}" for n in older if n // 10 == number // 10]
    texts = [f"compute_{n}" for n in older]
    names = (cubins if use_ptx is not True else []) + (texts if use_ptx is not False else [])
    return [_path(folder, module, "cuda", a) for a in names]


def _checked(module, who):
    if module is None:
        raise ArgumentTypeError(
            f"{who}(): wanted a Python module, its name or a Module, got None", code="WT714"
        )
    return module


def save_ops(path, ops, device=None, arch=None, use_ptx=None):
    """Writes ops into one file, compiled, with their gradients. ``load_ops`` has them in another
    process; ``warp_torch/ops.h`` has them in a C++ program with no Python and no compiler.

    The file holds what training needs: the op and its backward. ``jvp`` and second derivatives are
    compiled where they are asked for.

    Args:
        path: the file.
        ops: ``{name: op}`` with ops that ``kernel_op`` made. A number of the kernel is a number
            of the op, not a tensor.
        device, arch, use_ptx: what to compile for, as in ``compile_aot_module``.

    Returns:
        The path.

    Raises:
        ArgumentTypeError: not a mapping of names to ops.
        ArgumentValueError: an architecture that is none.
    """
    for name, op in dict(ops).items():
        if not isinstance(name, str) or not hasattr(op, "save_options"):
            raise ArgumentTypeError(
                f"save_ops(): got {name!r}: {op!r}, wanted names and what kernel_op() made",
                code="WT601",
            )
    targets = _targets(device, arch, use_ptx, "save_ops")
    _C.save_ops(os.fspath(path), {name: op.save_options() for name, op in ops.items()}, targets)
    return pathlib.Path(path)


def load_ops(path):
    """Registers the ops of a file with PyTorch, under the names that exported programs call.

    Returns:
        ``{name: op}``: PyTorch ops whose arguments are the kernel's in order, with no dim to give.

    Raises:
        ArgumentValueError: not a file that ``save_ops`` wrote, or a damaged one.
        DeviceError: the file cannot be read.
    """
    names = _C.load_ops(os.fspath(path), torch_library())
    return {name: getattr(torch.ops.warp_torch, op).default for name, op in names.items()}
