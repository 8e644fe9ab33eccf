# SPDX-License-Identifier: Apache-2.0
# memory_pools.py: questions about pools of device memory and access between devices.
"""CUDA devices take their memory from one stream-ordered pool each, which is always on."""

from __future__ import annotations

import contextlib
import ctypes

import torch

from warp_torch.device import get_device
from warp_torch.errors import ArgumentValueError, DeviceError

__all__ = [
    "ScopedMempool",
    "ScopedMempoolAccess",
    "ScopedPeerAccess",
    "get_mempool_release_threshold",
    "get_mempool_used_mem_current",
    "get_mempool_used_mem_high",
    "is_mempool_access_enabled",
    "is_mempool_access_supported",
    "is_mempool_enabled",
    "is_mempool_supported",
    "is_peer_access_enabled",
    "is_peer_access_supported",
    "set_mempool_access_enabled",
    "set_mempool_enabled",
    "set_mempool_release_threshold",
    "set_peer_access_enabled",
]

# Attributes of a pool, as the driver numbers them.
_RELEASE_THRESHOLD, _USED_CURRENT, _USED_HIGH = 4, 7, 8


def _pool(device, who):
    """The driver, and the handle of the device's pool."""
    device = _cuda_device(device, who)
    torch.cuda.init()
    driver = ctypes.CDLL("libcuda.so.1")
    pool = ctypes.c_void_p()
    if driver.cuDeviceGetDefaultMemPool(ctypes.byref(pool), device.ordinal) != 0:
        raise DeviceError(f"{who}: {device} has no memory pool", code="WT703")
    return driver, pool


def _attribute(device, who, attribute):
    driver, pool = _pool(device, who)
    value = ctypes.c_uint64()
    if driver.cuMemPoolGetAttribute(pool, attribute, ctypes.byref(value)) != 0:
        raise DeviceError(f"{who}: the driver does not say", code="WT708")
    return value.value


def _cuda_device(device, who):
    device = get_device(device)
    if not device.is_cuda:
        raise ArgumentValueError(
            f"{who}: memory pools are of CUDA devices; this one is the CPU", code="WT703"
        )
    return device


def is_mempool_supported(device=None):
    """Whether the device has a memory pool: CUDA devices have."""
    return get_device(device).is_cuda


def is_mempool_enabled(device=None):
    """Whether allocations come from the pool: always where there is one."""
    return get_device(device).is_cuda


def set_mempool_enabled(device, enable):
    """Has no effect: the pool is always on.

    Raises:
        ArgumentValueError: the device is the CPU.
    """
    _cuda_device(device, "set_mempool_enabled()")


def set_mempool_release_threshold(device, threshold):
    """How much memory the pool keeps when nothing uses it.

    Args:
        threshold: bytes, or from 0 to 1 a share of the device's memory.
    """
    who = "set_mempool_release_threshold()"
    driver, pool = _pool(device, who)
    if threshold < 0:
        raise ArgumentValueError(f"{who}: got {threshold}, wanted a number >= 0", code="WT602")
    whole = get_device(device).total_memory
    value = ctypes.c_uint64(int(threshold * whole if 0 < threshold <= 1 else threshold))
    if driver.cuMemPoolSetAttribute(pool, _RELEASE_THRESHOLD, ctypes.byref(value)) != 0:
        raise DeviceError(f"{who}: the driver refuses {threshold}", code="WT708")


def get_mempool_release_threshold(device=None):
    """How many bytes the pool keeps when nothing uses them."""
    return _attribute(device, "get_mempool_release_threshold()", _RELEASE_THRESHOLD)


def get_mempool_used_mem_current(device=None):
    """Bytes of the pool in use now."""
    return _attribute(device, "get_mempool_used_mem_current()", _USED_CURRENT)


def get_mempool_used_mem_high(device=None):
    """The most bytes of the pool that were in use at once."""
    return _attribute(device, "get_mempool_used_mem_high()", _USED_HIGH)


def _peers(first, second):
    """Whether two CUDA devices can read each other's memory."""
    first, second = get_device(first), get_device(second)
    if not (first.is_cuda and second.is_cuda):
        return False
    if first == second:
        return True
    return torch.cuda.can_device_access_peer(first.ordinal, second.ordinal)


def is_peer_access_supported(target_device, peer_device):
    """Whether ``peer_device`` can read memory of ``target_device``."""
    return _peers(peer_device, target_device)


def is_peer_access_enabled(target_device, peer_device):
    """Whether kernels on ``peer_device`` can read memory of ``target_device`` now; copies between
    devices work in any case."""
    return is_cuda_pair(target_device, peer_device) and get_device(target_device) == peer_device


def is_cuda_pair(first, second):
    """Whether both are CUDA devices."""
    return get_device(first).is_cuda and get_device(second).is_cuda


def _refused(who, first, second, enable):
    if not is_cuda_pair(first, second):
        raise ArgumentValueError(
            f"{who}: access is between CUDA devices; one of these is the CPU", code="WT703"
        )
    if enable and get_device(first) != get_device(second):
        raise ArgumentValueError(
            f"{who}: kernels here do not read the memory of another GPU; copy the array with to()",
            code="WT703",
        )


def set_peer_access_enabled(target_device, peer_device, enable):
    """Raises where it would have to turn on access to another device's memory."""
    _refused("set_peer_access_enabled()", target_device, peer_device, enable)


is_mempool_access_supported = is_peer_access_supported
is_mempool_access_enabled = is_peer_access_enabled


def set_mempool_access_enabled(target_device, peer_device, enable):
    """Raises where it would have to turn on access to another device's memory."""
    _refused("set_mempool_access_enabled()", target_device, peer_device, enable)


class ScopedMempool(contextlib.AbstractContextManager):
    """``with ScopedMempool(device, enable):`` has no effect: the pool is always on."""

    def __init__(self, device, enable):
        self.device = _cuda_device(device, "ScopedMempool")
        self.enable = enable

    def __exit__(self, *exc):
        return None


class ScopedPeerAccess(contextlib.AbstractContextManager):
    """Raises where it would have to turn on access to another device's memory."""

    def __init__(self, target_device, peer_device, enable):
        _refused(type(self).__name__, target_device, peer_device, enable)

    def __exit__(self, *exc):
        return None


class ScopedMempoolAccess(ScopedPeerAccess):
    """Raises where it would have to turn on access to another device's memory."""
