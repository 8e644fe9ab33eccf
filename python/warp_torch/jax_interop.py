# SPDX-License-Identifier: Apache-2.0
# jax_interop.py: arrays of JAX as arrays and back, without copies where DLPack allows it.
"""``from_jax`` and ``to_jax``; JAX is imported when they are called."""

from __future__ import annotations

import numpy as np

from warp_torch import types as _types
from warp_torch.device import get_device
from warp_torch.errors import ArgumentTypeError, DeviceError
from warp_torch.host_data import component_type, element_dtype
from warp_torch.interop import from_dlpack

__all__ = [
    "device_from_jax",
    "device_to_jax",
    "dtype_from_jax",
    "dtype_to_jax",
    "from_jax",
    "to_jax",
]


def from_jax(jax_array, dtype=None):
    """A JAX array as an array on the same memory. JAX takes its arrays to be constant: write only
    to those that nothing in JAX reads again.

    Args:
        jax_array: an array on one device, outside of ``jax.jit``.
        dtype: element type; for one with components, these are the last dimensions.
    """
    return from_dlpack(jax_array, dtype)


def to_jax(a):
    """An array as a JAX array on the same memory; components become the last dimensions."""
    import jax

    return jax.dlpack.from_dlpack(a.contiguous())


def device_from_jax(jax_device):
    """The Device of a ``jax.Device``."""
    if jax_device.platform == "cpu":
        return get_device("cpu")
    if jax_device.platform in ("gpu", "cuda"):
        return get_device(f"cuda:{jax_device.id}")
    raise DeviceError(
        f"device_from_jax(): {jax_device} is neither the CPU nor a CUDA device", code="WT702"
    )


def device_to_jax(device=None):
    """The ``jax.Device`` of a device."""
    import jax

    device = get_device(device)
    return jax.devices("cpu")[0] if device.is_cpu else jax.devices("cuda")[device.ordinal]


def dtype_from_jax(jax_dtype):
    """The scalar type of a JAX dtype."""
    found = np.dtype(jax_dtype)
    return _types.bfloat16 if found.name == "bfloat16" else element_dtype(found)


def dtype_to_jax(dtype):
    """The JAX type of a scalar type, or of the components of a composite."""
    import jax.numpy as jnp

    t = component_type(element_dtype(dtype))
    name = {_types.bool_: "bool_"}.get(t, t.__name__)
    if not hasattr(jnp, name):
        raise ArgumentTypeError(f"{_types.type_name(dtype)} has no JAX dtype", code="WT621")
    return getattr(jnp, name)
