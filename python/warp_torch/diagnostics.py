# SPDX-License-Identifier: Apache-2.0
# diagnostics.py: what this installation consists of, and its kernel cache.
"""``print_diagnostics`` says what a report of a fault needs."""

from __future__ import annotations

import platform
import sys

import torch

from warp_torch import _C, config
from warp_torch.device import get_devices

__all__ = [
    "clear_kernel_cache",
    "clear_lto_cache",
    "get_cuda_driver_version",
    "get_cuda_supported_archs",
    "get_cuda_toolkit_version",
    "print_diagnostics",
]


def clear_kernel_cache():
    """Deletes the compiled kernels on disk; those that are loaded stay."""
    _C.clear_kernel_cache()


def clear_lto_cache():
    """Does nothing: there is no such cache."""


def get_cuda_driver_version():
    """The CUDA version of the driver as (major, minor); None without a driver."""
    if _C.cuda_device_count() == 0:
        return None
    version = torch._C._cuda_getDriverVersion()
    return version // 1000, version % 1000 // 10


def get_cuda_toolkit_version():
    """The CUDA version that PyTorch brought as (major, minor); None in a build without CUDA."""
    if torch.version.cuda is None:
        return None
    return tuple(int(part) for part in torch.version.cuda.split(".")[:2])


def get_cuda_supported_archs():
    """Compute capabilities that kernels can be compiled for, such as 90."""
    if not _C.nvrtc_present():
        return []
    return [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121]


def print_diagnostics():
    """Prints versions, devices and options; returns them as a dict."""
    from warp_torch import __version__

    found = {
        "warp_torch": __version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "torch": torch.__version__,
        "cuda_driver_version": get_cuda_driver_version(),
        "cuda_toolkit_version": get_cuda_toolkit_version(),
        "cuda_unavailable_reason": _C.cuda_unavailable_reason(),
        "devices": [f"{d.alias}: {d.name}" for d in get_devices()],
        "kernel_cache": _C.kernel_cache_folder(),
        "mode": config.mode,
    }
    for name, value in found.items():
        print(f"{name}: {value}")
    return found
