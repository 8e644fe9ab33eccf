# SPDX-License-Identifier: Apache-2.0
# timing.py: ScopedTimer; Graph and what captures one.
"""Wall-clock time of a block, and CUDA graphs of launches."""

from __future__ import annotations

import contextlib
import time

import torch

from warp_torch.device import get_device, stream_to_torch, synchronize
from warp_torch.errors import DeviceError

__all__ = [
    "Graph",
    "ScopedCapture",
    "ScopedTimer",
    "capture_begin",
    "capture_end",
    "capture_launch",
]


class ScopedTimer(contextlib.AbstractContextManager):
    """``with ScopedTimer("name"):`` prints how long the block took.

    Args:
        name: what is printed.
        active: False makes it do nothing.
        print: False measures without printing.
        dict: a dict of lists; the time in milliseconds is appended to ``dict[name]``.
        synchronize: waits for the devices before and after.

    Attributes:
        elapsed: milliseconds, after the block.
    """

    _depth = 0

    def __init__(
        self,
        name,
        active=True,
        print=True,  # noqa: A002 - Warp's name
        detailed=False,
        dict=None,  # noqa: A002 - Warp's name
        use_nvtx=False,
        color="rapids",
        synchronize=False,
        **kwargs,
    ):
        self.name, self.active, self.print, self.dict = name, active, print, dict
        self.use_nvtx = use_nvtx and active
        self.synchronize = synchronize
        self.elapsed = 0.0
        if active and dict is not None:
            dict.setdefault(name, [])

    def __enter__(self):
        if not self.active:
            return self
        if self.synchronize:
            synchronize()
        if self.use_nvtx:
            torch.cuda.nvtx.range_push(self.name)
        ScopedTimer._depth += 1
        self._start = time.perf_counter()
        return self

    def __exit__(self, *exc):
        if not self.active:
            return
        if self.synchronize:
            synchronize()
        self.elapsed = 1e3 * (time.perf_counter() - self._start)
        ScopedTimer._depth -= 1
        if self.use_nvtx:
            torch.cuda.nvtx.range_pop()
        if self.dict is not None:
            self.dict[self.name].append(self.elapsed)
        if self.print:
            _say(f"{'  ' * ScopedTimer._depth}{self.name} took {self.elapsed:.2f} ms")


_say = print


class Graph:
    """Launches that were captured: ``capture_launch(graph)`` runs them again."""

    def __init__(self, device, graph):
        self.device = device
        self.graph = graph

    def __del__(self):
        if _captures:  # to destroy a graph would break a capture that is open
            _kept.append(self.graph)


_captures = []  # (graph, stream context) of those that are open
_kept = []  # graphs of PyTorch that wait for the captures to end


def capture_begin(device=None, stream=None):
    """Starts to capture what is launched on a CUDA device, instead of running it.

    Raises:
        DeviceError: the device is the CPU.
    """
    device = get_device(device) if stream is None else stream.device
    if not device.is_cuda:
        raise DeviceError("capture_begin(): graphs are of CUDA devices; this one is the CPU")
    side = torch.cuda.Stream(device.alias) if stream is None else stream_to_torch(stream)
    side.wait_stream(torch.cuda.current_stream(device.alias))
    context = torch.cuda.stream(side)
    context.__enter__()
    graph = torch.cuda.CUDAGraph()
    try:
        graph.capture_begin(capture_error_mode="thread_local")
    except BaseException:
        context.__exit__(None, None, None)
        raise
    _captures.append((Graph(device, graph), context))


def capture_end(device=None, stream=None):
    """Ends the capture that was started last; the Graph."""
    if not _captures:
        raise DeviceError("capture_end(): no capture was begun")
    graph, context = _captures.pop()
    try:
        graph.graph.capture_end()
    finally:
        context.__exit__(None, None, None)
        if not _captures:
            _kept.clear()
    return graph


def capture_launch(graph, stream=None):
    """Runs a graph on a stream, or on PyTorch's current one."""
    if stream is None:
        with torch.cuda.device(graph.device.alias):
            graph.graph.replay()
        return
    with torch.cuda.stream(stream_to_torch(stream)):
        graph.graph.replay()


class ScopedCapture(contextlib.AbstractContextManager):
    """``with ScopedCapture() as capture:`` captures the block as ``capture.graph``."""

    def __init__(self, device=None, stream=None, force_module_load=None, external=False, **kwargs):
        self._where = (device, stream)
        self.graph = None

    def __enter__(self):
        capture_begin(*self._where)
        return self

    def __exit__(self, kind, *exc):
        try:
            self.graph = capture_end()
        except Exception:
            if kind is None:
                raise
