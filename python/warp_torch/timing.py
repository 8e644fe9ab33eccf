# SPDX-License-Identifier: Apache-2.0
# timing.py: ScopedTimer, and times of what runs on a device.
"""Wall-clock time of a block, and the activities of CUDA devices in it."""

from __future__ import annotations

import builtins
import contextlib
import time

import torch

from warp_torch.device import get_device
from warp_torch.device import synchronize as _synchronize
from warp_torch.errors import ArgumentTypeError, ArgumentValueError
from warp_torch.messages import say
from warp_torch.profiling import Profile
from warp_torch.tape import active_tape

__all__ = [
    "TIMING_ALL",
    "TIMING_GRAPH",
    "TIMING_KERNEL",
    "TIMING_KERNEL_BUILTIN",
    "TIMING_MEMCPY",
    "TIMING_MEMSET",
    "ScopedTimer",
    "TimingResult",
    "timing_begin",
    "timing_end",
    "timing_print",
]

TIMING_KERNEL, TIMING_KERNEL_BUILTIN, TIMING_MEMCPY, TIMING_MEMSET, TIMING_GRAPH = 1, 2, 4, 8, 16
TIMING_ALL = 0xFFFFFFFF
_FILTERS = {"launch": TIMING_KERNEL, "copy": TIMING_MEMCPY, "fill": TIMING_MEMSET}


class TimingResult:
    """One activity of a CUDA device: device, name, filter (TIMING_...), elapsed (milliseconds)."""

    def __init__(self, device, name, filter, elapsed):  # noqa: A002 - Warp's name
        self.device, self.name, self.filter, self.elapsed = device, name, filter, elapsed

    def __repr__(self):
        return f"TimingResult({self.device}, {self.name!r}, {self.elapsed:.3f} ms)"


_open = []  # (profile, filter) of those that were begun


def timing_begin(cuda_filter=TIMING_ALL, synchronize=True):
    """Starts to note the times of what CUDA devices do.

    Args:
        cuda_filter: a sum of TIMING_KERNEL, TIMING_MEMCPY and TIMING_MEMSET.
        synchronize: waits for all devices first.
    """
    if synchronize:
        _synchronize()
    record = Profile()
    record.__enter__()
    _open.append((record, cuda_filter))


def timing_end(synchronize=True):
    """Ends what ``timing_begin`` started; a list of TimingResult in order."""
    if not _open:
        raise ArgumentValueError("timing_end(): timing_begin() was not called", code="WT707")
    if synchronize:
        _synchronize()
    record, wanted = _open.pop()
    record.__exit__()
    return [
        TimingResult(get_device(r["device"]), r["name"], _FILTERS[r["kind"]], r["ms"])
        for r in record.records
        if _FILTERS.get(r["kind"], 0) & wanted and r["device"].startswith("cuda")
    ]


def timing_print(results, indent=""):
    """Prints one line an activity, and the sums by name and by device."""
    if not results:
        say(f"{indent}No activity on a CUDA device")
        return
    totals = {}
    for r in results:
        say(f"{indent}{r.elapsed:12.6f} ms  {r.device}  {r.name}")
        for key in (r.name, str(r.device)):
            count, total = totals.get(key, (0, 0.0))
            totals[key] = count + 1, total + r.elapsed
    for name, (count, total) in totals.items():
        say(f"{indent}{total:12.6f} ms  {count:>6} x {name}")


class ScopedTimer(contextlib.AbstractContextManager):
    """``with ScopedTimer("name"):`` prints how long the block took.

    Args:
        name: what is printed.
        active: False makes it do nothing.
        print: False measures without printing.
        dict: a dict of lists; the time in milliseconds is appended to ``dict[name]``.
        synchronize: waits for the devices before and after.
        cuda_filter: which activities of CUDA devices are noted, a sum of TIMING_... numbers.
        skip_tape: False names the block as a scope of the tape that records it.
        report_func: called with the list of TimingResult and the indent instead of printing it.

    Attributes:
        elapsed: milliseconds, after the block.
        timing_results: a list of TimingResult, after the block.
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
        cuda_filter=0,
        report_func=None,
        skip_tape=False,
    ):
        if dict is not None and not isinstance(dict, builtins.dict):
            raise ArgumentTypeError(
                f"ScopedTimer(dict=): got a {type(dict).__name__}, wanted a dict of lists",
                code="WT601",
            )
        self.cuda_filter, self.report_func = cuda_filter, report_func
        self.timing_results = []
        self.name, self.active, self.print, self.dict = name, active, print, dict
        self.use_nvtx = use_nvtx and active
        self.synchronize = synchronize
        self.skip_tape = skip_tape
        self.elapsed = 0.0
        if active and dict is not None:
            dict.setdefault(name, [])

    def __enter__(self):
        if not self.active:
            return self
        if self.synchronize:
            _synchronize()
        if self.cuda_filter:
            timing_begin(self.cuda_filter, synchronize=False)
        if self.use_nvtx:
            torch.cuda.nvtx.range_push(self.name)
        self._tape = None if self.skip_tape else active_tape()
        if self._tape is not None:
            self._tape.record_scope_begin(self.name)
        ScopedTimer._depth += 1
        self._start = time.perf_counter()
        return self

    def __exit__(self, *exc):
        if not self.active:
            return
        if self.synchronize:
            _synchronize()
        if self.cuda_filter:
            self.timing_results = timing_end(synchronize=False)
        self.elapsed = 1e3 * (time.perf_counter() - self._start)
        ScopedTimer._depth -= 1
        if self._tape is not None:
            self._tape.record_scope_end()
        if self.use_nvtx:
            torch.cuda.nvtx.range_pop()
        if self.dict is not None:
            self.dict[self.name].append(self.elapsed)
        if self.print:
            indent = "    " * ScopedTimer._depth
            if self.report_func is not None:
                self.report_func(self.timing_results, indent)
            elif self.timing_results:
                timing_print(self.timing_results, indent)
            say(f"{indent}{self.name} took {self.elapsed:.2f} ms")
