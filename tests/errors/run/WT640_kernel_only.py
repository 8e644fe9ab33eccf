# SPDX-License-Identifier: Apache-2.0
# WT640_kernel_only.py: the index of a thread outside of kernels.
import warp_torch as wp


def wrong():
    wp.tid()
