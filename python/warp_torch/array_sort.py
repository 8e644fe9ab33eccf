# SPDX-License-Identifier: Apache-2.0
# array_sort.py: sorting, runs of equal values and casts of arrays; parts of ``warp_torch.utils``.
"""Sorting and runs are PyTorch's, on the same memory; casts are kernels and stand on tapes."""

from __future__ import annotations

import torch

from warp_torch import _C, graphs
from warp_torch import types as _types
from warp_torch.array_math import elementwise
from warp_torch.errors import ArgumentTypeError, ArgumentValueError, GradientError
from warp_torch.host_data import component_type
from warp_torch.interop import to_torch

_UNSIGNED = {_types.uint32: torch.int32, _types.uint64: torch.int64}
_BITS = {
    _types.int32: 32,
    _types.uint32: 32,
    _types.float32: 32,
    _types.int64: 64,
    _types.uint64: 64,
    _types.float64: 64,
}


def _plain(a, who, what):
    """The memory of an array as a tensor that autograd does not look at."""
    if not isinstance(a, _C.Array) or a.ndim != 1:
        raise ArgumentTypeError(
            f"{who}: {what} must be an array of one dimension, got {a!r}", code="WT601"
        )
    if a.requires_grad and _C.recording():
        raise GradientError(
            f"{who}: {what} requires a gradient, and this has none; use an array without "
            "requires_grad, or leave the tape",
            code="WT625",
        )
    return to_torch(a, requires_grad=False)


def _ranks(keys, dtype, begin, end):
    """Signed integers or floats in the order of the chosen bits of the keys."""
    bits = _BITS[dtype]
    if (begin, end) == (0, bits):
        if dtype not in _UNSIGNED:
            return keys
        signed = keys.view(_UNSIGNED[dtype])
        return signed ^ torch.iinfo(signed.dtype).min
    if dtype in (_types.float32, _types.float64):
        raise ArgumentValueError(
            "radix_sort_pairs(): ranges of bits are for integer keys", code="WT602"
        )
    signed = keys.view(torch.int32 if bits == 32 else torch.int64)
    mask = (1 << (end - begin)) - 1
    return (signed >> begin) & (mask if end - begin < 63 else -1)


def radix_sort_pairs(keys, values, count, begin_bit=0, end_bit=None):
    """Sorts the first ``count`` keys and their values in place; equal keys keep their order.

    Args:
        keys: array of int32, uint32, float32, int64, uint64 or float64.
        values: array of as many elements.
        count: number of pairs. Arrays may be longer.
        begin_bit, end_bit: the bits of integer keys to sort by.

    Raises:
        ArgumentTypeError: keys of another dtype.
        ArgumentValueError: a count or bits out of range.
    """
    who = "radix_sort_pairs()"
    if graphs.deferred(radix_sort_pairs, keys, values, count, begin_bit, end_bit):
        return
    if keys.dtype not in _BITS:
        raise ArgumentTypeError(f"{who}: no keys of {_types.type_name(keys.dtype)}", code="WT619")
    end_bit = _BITS[keys.dtype] if end_bit is None else end_bit
    if not 0 <= begin_bit < end_bit <= _BITS[keys.dtype]:
        raise ArgumentValueError(
            f"{who}: bits {begin_bit} to {end_bit} of {_BITS[keys.dtype]}", code="WT602"
        )
    if not 0 <= count <= min(keys.size, values.size):
        raise ArgumentValueError(
            f"{who}: a count of {count} for {keys.size} keys and {values.size} values", code="WT617"
        )
    k, v = _plain(keys, who, "keys")[:count], _plain(values, who, "values")[:count]
    order = torch.sort(_ranks(k, keys.dtype, begin_bit, end_bit), stable=True).indices
    for a, t in ((keys, k), (values, v)):
        _assign(a, t, order)


def _assign(a, t, order, place=slice(None)):
    """t[place] = t[order], in PyTorch's words for types that it cannot index."""
    same = _UNSIGNED.get(component_type(a.dtype))
    t = t if same is None else t.view(same)
    t[place] = t[order]


def segmented_sort_pairs(keys, values, count, segment_start_indices, segment_end_indices=None):
    """Sorts keys and their values within each segment, in place; equal keys keep their order.

    Args:
        keys: array of a dtype that ``radix_sort_pairs`` takes.
        values: array of as many elements.
        count: number of pairs that the segments are in. Arrays may be longer.
        segment_start_indices: int32 array of the first element of each segment.
        segment_end_indices: int32 array of the element after the last of each; if not given, each
            segment ends where the next begins, and the last start is only an end.

    Raises:
        ArgumentTypeError: keys of another dtype.
        ArgumentValueError: a count or segment out of range.
    """
    who = "segmented_sort_pairs()"
    if graphs.deferred(
        segmented_sort_pairs, keys, values, count, segment_start_indices, segment_end_indices
    ):
        return
    if keys.dtype not in _BITS:
        raise ArgumentTypeError(f"{who}: no keys of {_types.type_name(keys.dtype)}", code="WT619")
    starts = _plain(segment_start_indices, who, "segment_start_indices").long()
    if segment_end_indices is None:
        starts, ends = starts[:-1], starts[1:]
    else:
        ends = _plain(segment_end_indices, who, "segment_end_indices").long()
    lengths = ends - starts
    size = min(count, keys.size, values.size)
    if lengths.numel() and bool(((lengths < 0) | (starts < 0) | (ends > size)).any()):
        raise ArgumentValueError(f"{who}: a segment is not within the {size} pairs", code="WT617")
    segments = torch.repeat_interleave(torch.arange(len(starts), device=starts.device), lengths)
    before = torch.cumsum(lengths, 0) - lengths
    place = torch.arange(len(segments), device=starts.device) + (starts - before)[segments]
    k, v = _plain(keys, who, "keys"), _plain(values, who, "values")
    order = torch.sort(_ranks(k, keys.dtype, 0, _BITS[keys.dtype])[place], stable=True).indices
    order = order[torch.sort(segments[order], stable=True).indices]
    for a, t in ((keys, k), (values, v)):
        _assign(a, t, place[order], place)


def runlength_encode(values, run_values, run_lengths, run_count=None, value_count=None):
    """Runs of equal neighbours.

    Args:
        values: array of integers.
        run_values, run_lengths: arrays that get the value and the length of each run.
        run_count: array of one int32 that gets the number of runs.
        value_count: looks at that many leading values only.

    Returns:
        The number of runs, or ``run_count`` if given.
    """
    who = "runlength_encode()"
    t = _plain(values, who, "values")
    value_count = values.size if value_count is None else value_count
    if not 0 <= value_count <= values.size:
        raise ArgumentValueError(
            f"{who}: a count of {value_count} for {values.size} values", code="WT617"
        )
    found, lengths = torch.unique_consecutive(t[:value_count], return_counts=True)
    n = found.numel()
    for what, a, content in (
        ("run_values", run_values, found),
        ("run_lengths", run_lengths, lengths),
    ):
        out = _plain(a, who, what)
        if n > out.numel():
            raise ArgumentValueError(
                f"{who}: {n} runs, {what} has {out.numel()} elements", code="WT617"
            )
        out[:n] = content.to(out.dtype)
    if run_count is None:
        return n
    _plain(run_count, who, "run_count").fill_(n)
    return run_count


def array_cast(in_array, out_array, count=None):
    """``out[i] = dtype(in[i])`` for arrays of the same shape; vectors by component.

    Args:
        in_array, out_array: arrays of numbers, or of vectors or matrices of one shape.
        count: casts that many leading elements of arrays of one dimension only.
    """
    who = "array_cast()"
    if count is not None:
        if in_array.ndim != 1 or not 0 <= count <= min(in_array.size, out_array.size):
            raise ArgumentValueError(f"{who}: a count of {count} for {in_array!r}", code="WT617")
        in_array, out_array = in_array[:count], out_array[:count]
    elementwise(who, "D({0})", [in_array], out_array, (("D", out_array.dtype),))
