# SPDX-License-Identifier: Apache-2.0
# ahead.py: bundles of a module's kernels, compiled for other machines: they load with no compiler.
"""``compile_aot_module`` and ``load_aot_module``: ahead-of-time compilation."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import zipfile

from warp_torch import _C, config
from warp_torch.device import get_device
from warp_torch.errors import ArgumentTypeError, ArgumentValueError
from warp_torch.modules import get_module_of

__all__ = ["compile_aot_module", "load_aot_module"]

_MANIFEST = "manifest.json"
_ALL_MASKS = 3  # kernels with more gradients get the forms for all of them together and for each
_CPU_ARCHITECTURES = ("x86-64-v3", "x86-64")


def _masks(kernel):
    """Which parameters carry gradients, for each adjoint that a bundle holds."""
    if not kernel.enable_backward:
        return []
    whole = kernel.mask()
    places = [i for i, on in enumerate(whole) if on]
    sizes = range(len(places), 0, -1) if len(places) <= _ALL_MASKS else (len(places), 1)
    chosen = [c for n in sizes for c in itertools.combinations(places, n)]
    return [[i in c for i in range(len(whole))] for c in chosen]


def _compiled(module):
    """(key, _C.Kernel, masks) of what the module declares with settled types."""
    out = []
    for key, kernel in module.kernels.items():
        made = list(kernel.overloads.values()) if kernel.is_generic else [kernel]
        out.extend((key, k.specialise(), _masks(k)) for k in made)
    if not out:
        raise ArgumentValueError(
            f"compile_aot_module(): module {module.name} has no kernel with settled types; "
            "give generic kernels an overload()"
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
            raise ArgumentValueError(f'{who}(arch={a!r}): wanted a number such as 90, or "sm_90"')
        if use_ptx is not True:
            out.append(("cuda", f"sm_{number}"))
        if use_ptx is not False:
            out.append(("cuda", f"compute_{number}"))
    return list(dict.fromkeys(out))


def _path(folder, module, target, arch):
    return pathlib.Path(folder) / f"{module.name}.{target}-{arch}.zip"


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
    folder = _folder(module_dir, found)
    os.makedirs(folder, exist_ok=True)
    kernels = _compiled(found)
    paths = []
    for target, made_for in _targets(device, arch, use_ptx, "compile_aot_module"):
        entries, files = [], {}
        for key, kernel, masks in kernels:
            for digest, name, kind, its_arch, data in _C.compile_ahead(
                kernel, target, made_for, masks
            ):
                entries.append([digest, name, kind, its_arch, key])
                files[digest] = data
        path = _path(folder, found, target, made_for)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as bundle:
            bundle.writestr(_MANIFEST, json.dumps({"module": found.name, "entries": entries}))
            for digest, data in files.items():
                bundle.writestr(digest, data)
        os.replace(partial, path)
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
                _load(path)
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


def _load(path):
    with zipfile.ZipFile(path) as bundle:
        manifest = json.loads(bundle.read(_MANIFEST))
        for digest, name, kind, arch, _ in manifest["entries"]:
            _C.add_bundled(digest, name, kind, arch, bundle.read(digest))


def _checked(module, who):
    if module is None:
        raise ArgumentTypeError(f"{who}(): wanted a Python module, its name or a Module, got None")
    return module
