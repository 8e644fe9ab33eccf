# SPDX-License-Identifier: Apache-2.0
# utils.pyi: for type checkers; written by scripts/write_stubs.py.
# mypy: ignore-errors
from typing import Any
from typing_extensions import Self
from . import *

def array_cast(in_array: Any, out_array: Any, count: Any = None) -> Any: 
    """``out[i] = dtype(in[i])`` for arrays of the same shape; vectors by component."""
def array_inner(a: Any, b: Any, out: Any = None, count: Any = None, axis: Any = None) -> Any: 
    """The sum of products of elements; of vectors, of their dot products. See ``array_sum``."""
def array_scan(in_array: Any, out_array: Any, inclusive: Any = True) -> Any: 
    """Running sums: ``out[k]`` is the sum of ``in[0..k]``, without ``in[k]`` if not inclusive."""
def array_sum(values: Any, out: Any = None, value_count: Any = None, axis: Any = None) -> Any: 
    """The sum of all elements, or over one axis."""
def radix_sort_pairs(keys: Any, values: Any, count: Any, begin_bit: Any = 0, end_bit: Any = None) -> Any: 
    """Sorts the first ``count`` keys and their values in place; equal keys keep their order."""
def runlength_encode(values: Any, run_values: Any, run_lengths: Any, run_count: Any = None, value_count: Any = None) -> Any: 
    """Runs of equal neighbours."""
def segmented_sort_pairs(keys: Any, values: Any, count: Any, segment_start_indices: Any, segment_end_indices: Any = None) -> Any: 
    """Sorts keys and their values within each segment, in place; equal keys keep their order."""
