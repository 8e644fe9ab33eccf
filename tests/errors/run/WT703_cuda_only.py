# SPDX-License-Identifier: Apache-2.0
# WT703_cuda_only.py: the memory pool of the CPU.
import warp_torch as wp


def wrong():
    wp.set_mempool_release_threshold("cpu", 0)
