# SPDX-License-Identifier: Apache-2.0
# graphs.py: Graph and what captures one: CUDA graphs through PyTorch, lists of calls on the CPU.
"""Graphs of launches, copies and fills that are captured once and run again many times."""

from __future__ import annotations

import contextlib
import copy

import torch

from warp_torch.device import get_device, stream_to_torch
from warp_torch.errors import ArgumentTypeError, DeviceError

__all__ = [
    "Graph",
    "ScopedCapture",
    "capture_begin",
    "capture_end",
    "capture_if",
    "capture_launch",
    "capture_while",
    "is_conditional_graph_supported",
]


class Graph:
    """Launches that were captured: ``capture_launch(graph)`` runs them again."""

    def __init__(self, device, graph=None):
        self.device = device
        self.graph = graph  # of PyTorch; None on the CPU
        self.actions = []  # on the CPU, the calls in order

    def replay(self):
        """Runs what was captured, on the current stream."""
        if self.graph is None:
            for action in self.actions:
                action()
            return
        with torch.cuda.device(self.device.alias):
            self.graph.replay()

    def __del__(self):
        if _captures and self.graph is not None:  # to destroy a graph would break an open capture
            _kept.append(self.graph)


_captures = []  # (graph, stream context) of those that are open
_kept = []  # graphs of PyTorch that wait for the captures to end
open_on_cpu = []  # the Graphs of captures of the CPU, the innermost last


def deferred(function, *args):
    """Whether a capture of the CPU has kept the call ``function(*args)`` for later instead."""
    if not open_on_cpu:
        return False
    kept = [_unshared(a) for a in args]
    open_on_cpu[-1].actions.append(lambda: function(*kept))
    return True


def _unshared(value):
    """An argument as it is now: what a kernel takes by value may change before a replay."""
    if isinstance(value, (list, tuple)):
        return [_unshared(v) for v in value]
    by_value = getattr(type(value), "wt_kind", "") == "struct" or hasattr(type(value), "family")
    return copy.copy(value) if by_value else value


def capture_begin(device=None, stream=None, **kwargs):
    """Starts to capture what is launched, copied and filled on a device, instead of running it.

    Args:
        device: the device; the default one if not given.
        stream: on a CUDA device, the stream to capture.
    """
    device = get_device(device) if stream is None else stream.device
    if device.is_cpu:
        graph, context = Graph(device), None
        open_on_cpu.append(graph)
        _captures.append((graph, context))
        return
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
    """Ends the capture that was started last; the Graph.

    Raises:
        DeviceError: none was started.
    """
    if not _captures:
        raise DeviceError("capture_end(): no capture was begun", code="WT705")
    graph, context = _captures.pop()
    if graph.graph is None:
        open_on_cpu.pop()
        return graph
    try:
        graph.graph.capture_end()
    finally:
        context.__exit__(None, None, None)
        if not _captures:
            _kept.clear()
    return graph


def capture_launch(graph, stream=None):
    """Runs a graph on a stream, or on PyTorch's current one."""
    if not isinstance(graph, Graph):
        raise ArgumentTypeError(
            f"capture_launch(): got a {type(graph).__name__}, wanted a Graph", code="WT601"
        )
    if graph.graph is None:
        if not deferred(graph.replay):
            graph.replay()
    elif stream is None:
        graph.replay()
    else:
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


# Conditions


def is_conditional_graph_supported():
    """Whether a CUDA graph can hold conditions: False, PyTorch's graphs have none. On the CPU they
    work in captures too."""
    return False


def _runner(body, kwargs, who):
    """What runs a branch or body: a Graph, a function, or what a function did under a capture."""
    if isinstance(body, Graph):
        return body.replay
    if not callable(body):
        raise ArgumentTypeError(
            f"{who}: got a {type(body).__name__}, wanted a function or a Graph", code="WT601"
        )
    if not open_on_cpu:
        return lambda: body(**kwargs)
    with ScopedCapture("cpu") as capture:
        body(**kwargs)
    return capture.graph.replay


def _checked_condition(condition, who):
    if getattr(condition, "size", None) != 1 or not hasattr(condition, "device_name"):
        raise ArgumentTypeError(f"{who}: the condition is an array of one int32", code="WT706")
    if condition.device.is_cuda and _captures:
        raise DeviceError(
            f"{who}: CUDA graphs captured here hold no conditions; call it outside of the capture",
            code="WT706",
        )


def capture_if(condition, on_true=None, on_false=None, stream=None, **kwargs):
    """Runs ``on_true(**kwargs)`` if the one element of ``condition`` is not 0, else ``on_false``.

    Outside of a capture the host reads the condition; in a capture of the CPU each run of the graph
    reads it.

    Args:
        condition: an array of one int32.
        on_true, on_false: functions that launch kernels, or Graphs; None for nothing.
    """
    who = "capture_if()"
    _checked_condition(condition, who)
    branches = [None if b is None else _runner(b, kwargs, who) for b in (on_false, on_true)]

    def choose():
        branch = branches[bool(condition.numpy().item())]
        if branch is not None:
            branch()

    if not deferred(choose):
        choose()


def capture_while(condition, while_body, stream=None, **kwargs):
    """Runs ``while_body(**kwargs)`` as long as the one element of ``condition`` is not 0; see
    ``capture_if``."""
    who = "capture_while()"
    _checked_condition(condition, who)
    body = _runner(while_body, kwargs, who)

    def loop():
        while condition.numpy().item():
            body()

    if not deferred(loop):
        loop()
