# SPDX-License-Identifier: Apache-2.0
# startup.py: init(), and handing the options of config.py to the C++ core.
"""What happens at start: nothing until a device, a compiler or an option is needed."""

from __future__ import annotations

import functools
import glob
import os
import sys

from warp_torch import _C, config
from warp_torch.messages import say

__all__ = ["init", "static"]

_applied = {"cpu_threads": 0}  # threads start at the first launch unless told otherwise


def _wheel_folders(*parts):
    """Folders of NVIDIA's wheels that PyTorch brought, e.g. nvidia/cu13/lib."""
    out = []
    for root in sys.path:
        out.extend(glob.glob(os.path.join(root, "nvidia", "*", *parts)))
        out.extend(glob.glob(os.path.join(root, "nvidia", "*", "*", *parts)))
    return out


@functools.cache
def _nvrtc_folders():
    return _wheel_folders("lib")


def apply_config():
    """Gives config.py's values to the core; called again when one changes."""
    _C.set_history_budget(int(config.tape_budget))
    _C.set_gradient_checks(bool(config.check_grad))
    if config.cpu_threads != _applied["cpu_threads"]:
        _C.set_thread_count(config.cpu_threads)
        _applied["cpu_threads"] = config.cpu_threads
    _C.configure(
        {
            "nvrtc_folders": _nvrtc_folders(),
            "cache_dir": config.kernel_cache_dir or "",
            "source_dir": config.keep_source_dir or "",
            "host_compiler": config.host_compiler or "",
            "python": sys.executable,
            "ptx_target": config.ptx_target or "",
            "debug": config.mode == "debug" or bool(config.check_grad),
            "verify_fp": bool(config.verify_fp),
            "deterministic": bool(config.deterministic),
        }
    )


def init(device=None, ptx_target=None, mode=None, cpu_threads=None, verbose=None):
    """Sets options and looks for devices. Calling it is optional; all of this happens at first use.

    Args:
        device: the default device.
        ptx_target: architecture that PTX is made for, such as "compute_80".
        mode: "release" or "debug".
        cpu_threads: worker threads of the CPU device.
        verbose: print the devices that were found.
    """
    from warp_torch.device import get_devices, set_device

    given = {"ptx_target": ptx_target, "mode": mode, "cpu_threads": cpu_threads}
    for name, value in given.items():
        if value is not None:
            setattr(config, name, value)
    if device is not None:
        set_device(device)
    if config.verbose if verbose is None else verbose:
        for d in get_devices():
            say(f"{d.alias}: {d.name}")


config._listeners.append(apply_config)


def static(expression):
    """In a kernel: a Python expression evaluated once, when the kernel is declared."""
    return expression
