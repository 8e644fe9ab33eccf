# SPDX-License-Identifier: Apache-2.0
# profiling.py: profile() lists what ran, how often and how long.
"""Times of launches, copies, fills and compiles."""

from __future__ import annotations

import json
import re

from warp_torch import _C
from warp_torch.errors import ArgumentValueError

__all__ = ["Profile", "profile"]

_FORMS = {"fwd": "", "adj": " (adjoint)", "aug": " (augmented)", "tan": " (tangent)"}
_ENTRY = re.compile(r"^(.*)_[0-9a-f]{12}_(fwd|adj|aug|tan)[a-z]*[01]*$")


def _readable(name):
    """ "step (adjoint)" for the name of an emitted entry."""
    found = _ENTRY.match(name)
    return found[1] + _FORMS[found[2]] if found else name


class Profile:
    """What ``with profile() as p:`` has seen.

    Attributes:
        records: one dict an event, in order: kind ("launch", "copy", "fill", "compile"), name,
            entry (the emitted name), device, threads, begin_ns, end_ns (host clock), ms (on the
            device where it was measured, of the call where not).
    """

    def __init__(self, show=False):
        self.records = []
        self._show = show

    def __enter__(self):
        _C.start_profile()
        return self

    def __exit__(self, *exc):
        for r in sorted(_C.stop_profile(), key=lambda r: r["begin_ns"]):
            host = (r["end_ns"] - r["begin_ns"]) * 1e-6
            r["ms"] = host if r["device_ms"] is None else r["device_ms"]
            r["entry"] = r["name"]
            r["name"] = _readable(r["name"])
            self.records.append(r)
        if self._show:
            print(self.table())

    def launches(self, name=None):
        """The launches, or those of the kernel (or form, "step (adjoint)") of that name."""
        return [r for r in self.records if r["kind"] == "launch" and name in (None, r["name"])]

    def summary(self):
        """One dict a kind and name: count, ms (sum), mean_ms, most time first."""
        rows = {}
        for r in self.records:
            key = (r["kind"], r["name"], r["device"])
            row = rows.setdefault(
                key, {"kind": key[0], "name": key[1], "device": key[2], "count": 0, "ms": 0.0}
            )
            row["count"] += 1
            row["ms"] += r["ms"]
        for row in rows.values():
            row["mean_ms"] = row["ms"] / row["count"]
        return sorted(rows.values(), key=lambda row: -row["ms"])

    def table(self):
        """The summary as text."""
        lines = [f"{'kind':<8} {'name':<36} {'device':<8} {'count':>7} {'ms':>10} {'mean ms':>10}"]
        lines.extend(
            f"{r['kind']:<8} {r['name']:<36} {r['device']:<8} {r['count']:>7} {r['ms']:>10.3f} "
            f"{r['mean_ms']:>10.4f}"
            for r in self.summary()
        )
        return "\n".join(lines)

    def write_trace(self, path):
        """Writes the records in Chrome's trace format (chrome://tracing, Perfetto)."""
        if not str(path).endswith(".json"):
            raise ArgumentValueError(
                f"write_trace({str(path)!r}): wanted a name ending in .json", code="WT715"
            )
        events = [
            {
                "ph": "X",
                "cat": r["kind"],
                "name": r["name"],
                "pid": r["device"] or "host",
                "tid": r["thread"],
                "ts": r["begin_ns"] * 1e-3,
                "dur": r["ms"] * 1e3,
            }
            for r in self.records
        ]
        with open(path, "w") as f:
            json.dump({"traceEvents": events}, f)


def profile(show=False):
    """Context that lists launches, copies, fills and compiles with their times.

    On a GPU the times are the device's, between events; leaving the context waits for them.

    Args:
        show: print the table on leaving.
    """
    return Profile(show)
