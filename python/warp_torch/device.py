# SPDX-License-Identifier: Apache-2.0
# device.py: devices, streams and events.
"""Devices are named "cpu" and "cuda:0", in PyTorch's order."""

from __future__ import annotations

import contextlib
import os
import typing

from warp_torch import _C
from warp_torch.errors import ArgumentValueError, DeviceError

__all__ = [
    "Device",
    "DeviceLike",
    "Event",
    "ScopedDevice",
    "ScopedStream",
    "Stream",
    "get_cuda_device",
    "get_cuda_device_count",
    "get_cuda_devices",
    "get_device",
    "get_event_elapsed_time",
    "get_devices",
    "get_preferred_device",
    "get_stream",
    "is_cpu_available",
    "is_cuda_available",
    "is_device_available",
    "record_event",
    "set_device",
    "set_stream",
    "stream_from_torch",
    "stream_to_torch",
    "synchronize",
    "synchronize_device",
    "synchronize_event",
    "synchronize_stream",
    "wait_event",
    "wait_stream",
]

_devices = {}
_default = None
_main_pid = os.getpid()


class Device:
    """One device. ``alias`` is its name here, ``name`` what its maker calls it.

    Attributes: alias, name, is_cpu, is_cuda, ordinal, arch (e.g. "sm_90"), compute_capability
    (major, minor), uuid (bytes), pci_bus_id, total_memory (bytes), processors.
    """

    def __init__(self, alias):
        p = _C.device_properties(alias)
        self.alias = alias
        self.name = p["name"]
        self.is_cuda = p["is_cuda"]
        self.is_cpu = not self.is_cuda
        self.ordinal = p["ordinal"] if self.is_cuda else -1
        self.arch = p["arch"]
        self.compute_capability = p["compute_capability"]
        self.uuid = p["uuid"]
        self.pci_bus_id = p["pci_bus_id"]
        self.total_memory = p["total_memory"]
        self.processors = p["processors"]
        self._stream = None

    @property
    def sm_count(self):
        """Multiprocessors of a GPU; 0 of the CPU."""
        return self.processors if self.is_cuda else 0

    @property
    def has_stream(self):
        """Whether work on the device is in streams: True of a GPU."""
        return self.is_cuda

    has_context = has_stream

    @property
    def is_capturing(self):
        """Whether a graph capture records this thread's work on the device."""
        if self.is_cpu:
            from warp_torch import graphs

            return bool(graphs.open_on_cpu)
        return get_stream(self).is_capturing

    @property
    def is_mempool_supported(self):
        """Whether the device has a memory pool."""
        return self.is_cuda

    is_mempool_enabled = is_mempool_supported

    @property
    def is_primary(self):
        """Whether its context is the primary one: of a GPU it always is."""
        return self.is_cuda

    @property
    def is_uva(self):
        """Whether the device has one address space with the host."""
        return self.is_cuda

    @property
    def is_ipc_supported(self):
        """Whether memory can be shared with other processes by us: False."""
        return False

    def can_access(self, other):
        """Whether kernels here can read memory of the other device: only their own."""
        return self == get_device(other)

    def make_current(self):
        """Makes it the default device."""
        set_device(self)

    def set_stream(self, stream, sync=True):
        """Work on the device goes to ``stream`` from now on."""
        if sync and stream is not None:
            stream.wait_stream(get_stream(self))
        set_stream(stream, self)

    @property
    def free_memory(self):
        """Bytes that are free now."""
        return _C.memory_info(self.alias)[0]

    @property
    def stream(self):
        """The stream that this thread's work goes to: PyTorch's current one unless set."""
        return get_stream(self)

    def __str__(self):
        return self.alias

    def __repr__(self):
        return f"Device({self.alias!r}, {self.name!r})"

    def __eq__(self, other):
        if isinstance(other, Device):
            return self.alias == other.alias
        return self.alias == other if isinstance(other, str) else NotImplemented

    def __hash__(self):
        return hash(self.alias)


def _default_alias():
    """The default device's name: what was set, else CUDA's current device, else the CPU."""
    if _default is not None:
        return _default
    if os.getpid() == _main_pid and _C.cuda_device_count() > 0:
        import torch

        return f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else "cuda:0"
    return "cpu"


def _no_cuda(name):
    return DeviceError(
        f"device {name!r} is not available: no NVIDIA driver with a GPU answers "
        f'({_C.cuda_unavailable_reason()}). Use device="cpu".',
        code="WT701",
    )


def device_alias(device=None):
    """The name of a device given as None, a name, a Device or a ``torch.device``."""
    if device is None:
        return _default_alias()
    if isinstance(device, Device):
        return device.alias
    text = str(device)
    if text == "cuda":
        if _C.cuda_device_count() == 0:
            raise _no_cuda(text)
        import torch

        return f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else "cuda:0"
    return text


def get_device(device=None):
    """The device of that name, or the default one. Raises ArgumentValueError if there is none."""
    alias = device_alias(device)
    if alias not in _devices:
        if alias.startswith("cuda") and _C.cuda_device_count() == 0:
            raise _no_cuda(alias)
        _devices[alias] = Device(alias)
    return _devices[alias]


def get_devices():
    """All devices, the CPU first."""
    return [get_device(name) for name in _C.device_names()]


def get_cuda_devices():
    """The CUDA devices in order."""
    return [d for d in get_devices() if d.is_cuda]


def get_cuda_device(ordinal=None):
    """The CUDA device of that number; PyTorch's current one if not given."""
    return get_device("cuda" if ordinal is None else f"cuda:{ordinal}")


def get_cuda_device_count():
    """Number of CUDA devices; 0 without a driver."""
    return _C.cuda_device_count()


def is_cuda_available():
    """Whether a CUDA driver and a device answer."""
    return _C.cuda_device_count() > 0


def is_cpu_available():
    """Always true; a kernel needs a C++ compiler, which is looked for at its first launch."""
    return True


def is_device_available(device):
    """Whether the device exists."""
    try:
        return device_alias(device) in _C.device_names()
    except DeviceError:
        return False


def get_preferred_device():
    """CUDA's current device if there is one, else the CPU."""
    return get_device(None if _default is None else _default)


def set_device(device):
    """Makes ``device`` the default of this process."""
    global _default
    _default = get_device(device).alias


class ScopedDevice(contextlib.AbstractContextManager):
    """``with ScopedDevice("cuda:0"):`` sets the default device inside."""

    def __init__(self, device):
        self.device = get_device(device)

    def __enter__(self):
        global _default
        self._saved = _default
        _default = self.device.alias
        return self.device

    def __exit__(self, *exc):
        global _default
        _default = self._saved
        return None


class Stream:
    """An in-order queue of a device. With ``cuda_stream`` (a handle) it wraps an existing one."""

    def __init__(self, device=None, priority=0, *, cuda_stream=None, owner=None):
        self.device = get_device(device)
        self._owned = cuda_stream is None
        self._owner = owner
        self.cuda_stream = _C.create_stream(self.device.alias) if self._owned else int(cuda_stream)

    def __del__(self):
        if getattr(self, "_owned", False) and os.getpid() == _main_pid:
            _C.destroy_stream(self.device.alias, self.cuda_stream)

    def record_event(self, event=None, external=False):
        """Marks the end of what is on the stream now; makes an Event if none is given."""
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        """Later work runs after the event."""
        event.event.wait(self.cuda_stream)

    def wait_stream(self, other, event=None):
        """Later work runs after what is on ``other`` now."""
        _C.wait_stream(self.device.alias, self.cuda_stream, other.cuda_stream)

    @property
    def is_complete(self):
        """Whether all work on the stream is done."""
        return self.record_event().is_complete

    @property
    def is_capturing(self):
        """Whether a graph capture records this stream."""
        return _C.is_capturing(self.device.alias, self.cuda_stream)

    def __repr__(self):
        return f"Stream({self.device.alias!r}, {self.cuda_stream:#x})"


class Event:
    """A point in a stream's work."""

    def __init__(self, device=None, cuda_event=None, enable_timing=False, interprocess=False):
        if cuda_event is not None or interprocess:
            raise ArgumentValueError(
                "Event(): events of others and of other processes are not here", code="WT704"
            )
        self.device = get_device(device)
        self.event = _C.Event(self.device.alias, enable_timing)

    def record(self, stream=None):
        """Moves the event to the end of what is on the stream now."""
        self.event.record((stream or get_stream(self.device)).cuda_stream)

    @property
    def is_complete(self):
        """Whether the work before the event is done."""
        return self.event.done()


def get_event_elapsed_time(start, end, synchronize=True):
    """Milliseconds from one timed event to another."""
    if synchronize:
        end.event.synchronize()
    return end.event.elapsed_ms(start.event)


def get_stream(device=None):
    """The stream that this thread's work on the device goes to."""
    device = get_device(device)
    if device._stream is not None:
        return device._stream
    return Stream(device, cuda_stream=_C.current_stream(device.alias))


def set_stream(stream, device=None):
    """Work on the device goes to ``stream`` from now on; None gives it back to PyTorch's."""
    device = get_device(device if stream is None else stream.device)
    device._stream = stream


class ScopedStream(contextlib.AbstractContextManager):
    """``with ScopedStream(s):`` sends work on the stream's device to ``s`` inside."""

    def __init__(self, stream, sync_enter=True, sync_exit=False):
        self.stream = stream
        self.sync_enter = sync_enter
        self.sync_exit = sync_exit

    def __enter__(self):
        if self.stream is None:
            return None
        device = self.stream.device
        self._saved = device._stream
        before = get_stream(device)
        if self.sync_enter:
            self.stream.wait_stream(before)
        device._stream = self.stream
        return self.stream

    def __exit__(self, *exc):
        if self.stream is None:
            return
        device = self.stream.device
        device._stream = self._saved
        if self.sync_exit:
            get_stream(device).wait_stream(self.stream)


def stream_handle(stream, device_name):
    """The handle for _C: None means that _C asks PyTorch itself."""
    if stream is not None:
        return stream.cuda_stream
    device = _devices.get(device_name)
    return device._stream.cuda_stream if device is not None and device._stream else None


def stream_from_torch(stream=None):
    """PyTorch's stream (default: its current one) as a Stream."""
    import torch

    stream = torch.cuda.current_stream() if stream is None else stream
    return Stream(f"cuda:{stream.device_index}", cuda_stream=stream.cuda_stream, owner=stream)


def stream_to_torch(stream=None):
    """A stream of ours as PyTorch's; it must outlive the result."""
    import torch

    stream = get_stream() if stream is None else stream
    return torch.cuda.ExternalStream(stream.cuda_stream, device=stream.device.alias)


def record_event(event=None):
    """Records an event on the default device's stream."""
    return get_stream().record_event(event)


def wait_event(event):
    """The default device's stream waits for the event."""
    get_stream().wait_event(event)


def wait_stream(other, event=None):
    """The default device's stream waits for another."""
    get_stream().wait_stream(other)


def synchronize_stream(stream=None):
    """Blocks until the work of the stream, or of a device's current one, is done."""
    stream = stream if isinstance(stream, Stream) else get_stream(stream)
    _C.synchronize_stream(stream.device.alias, stream.cuda_stream)


def synchronize_event(event):
    """Blocks until the event is reached."""
    event.event.synchronize()


def synchronize_device(device=None):
    """Blocks until all work of the device is done."""
    _C.synchronize_device(device_alias(device))


def synchronize():
    """Blocks until all work of all devices is done."""
    for name in _C.device_names():
        _C.synchronize_device(name)


def check_device_name(name):
    """Raises ArgumentValueError if no such device exists."""
    if name not in _C.device_names():
        raise ArgumentValueError(f"device {name!r} does not exist", code="WT702")


DeviceLike = typing.Union[Device, str, None]  # noqa: UP007 - what takes a device takes these
