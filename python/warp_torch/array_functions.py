# SPDX-License-Identifier: Apache-2.0
# array_functions.py: functions of whole arrays, by the names that Warp has for them.
"""``warp_torch.utils``: sums, scans, sorting, runs and casts of arrays."""

from warp_torch.array_math import array_inner, array_scan, array_sum
from warp_torch.array_sort import (
    array_cast,
    radix_sort_pairs,
    runlength_encode,
    segmented_sort_pairs,
)

__all__ = [
    "array_cast",
    "array_inner",
    "array_scan",
    "array_sum",
    "radix_sort_pairs",
    "runlength_encode",
    "segmented_sort_pairs",
]
